"""What every application here is built from; it knows none of them."""
