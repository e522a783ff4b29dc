"""What every server here needs, whatever it serves: TLS, who may stay, how it is reached, what it says of errors."""
