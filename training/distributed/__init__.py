"""How ranks work together: the process group over the fabric, and one file for each way to split a model."""
