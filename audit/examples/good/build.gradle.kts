plugins {
    application
    kotlin("jvm") version "2.1.0"
}

dependencies {
    implementation("org.apache.kafka:kafka-clients:3.9.1")
    implementation("io.confluent:kafka-avro-serializer:7.9.0")
}
