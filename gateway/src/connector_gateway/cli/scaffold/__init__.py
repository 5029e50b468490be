"""The scaffold of connectors: the folder ``template`` is the package of one, named ``acme``."""
