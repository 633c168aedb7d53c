"""Verification of the block cores: packets, golden's verdict, stimuli, testbench, dumps and measurements."""
