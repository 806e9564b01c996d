"""A test endpoint that answers as EC2, SSM and STS do: moto, and what moto 5.2.1 leaves out."""
