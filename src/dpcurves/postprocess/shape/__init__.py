"""What is known of a curve without data: it rises, it adds up."""
