"""Windows logs of our own making: ordinary computers and attacks, each in a half to develop with and one held back."""
