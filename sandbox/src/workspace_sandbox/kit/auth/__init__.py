"""OAuth and the consent page, as vendors run them."""
