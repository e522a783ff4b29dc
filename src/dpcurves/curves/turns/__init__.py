"""Parts of conversations that several questions share."""
