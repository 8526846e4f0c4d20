"""What was asked: deliveries in, intents out."""
