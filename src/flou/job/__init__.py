"""A plan file carried out from source to output folder: what the command line and the web app call."""
