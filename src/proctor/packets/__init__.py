"""Sealed packets: exams for a responder that Proctor cannot call."""
