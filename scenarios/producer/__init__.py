"""Producers: what each setting of acks costs.

What an acknowledgement is worth is the producer's choice. With acks=0 there is none, with acks=1 the leader alone has
the record, with acks=all every replica in the ISR has it.
"""
