"""What the reproductions of all papers share: claims, what was found, the record of it, and the report."""
