"""The link side: blocks of all lanes into one stream and back, its CRC, and the link's memory."""
