"""What brings a machine to where clusters can be started: engine, Java, images and their jars."""
