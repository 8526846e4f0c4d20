"""The durable part: claims what is due, moves it one step, hands it on."""
