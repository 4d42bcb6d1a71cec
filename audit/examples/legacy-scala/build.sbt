name := "clicks"

scalaVersion := "2.10.7"

libraryDependencies += "org.apache.kafka" %% "kafka" % "0.8.2.2"
