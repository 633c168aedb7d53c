"""What all rooms of the engine share: requests, results, status, streams between lanes and link, interleave."""
