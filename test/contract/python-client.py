# What the Python client makes of the store at this address, one line of JSON for each step.
import json
import sys

from esdbclient import EventStoreDBClient as Client, NewEvent, StreamState


def tell(step, answer):
    print(json.dumps([step, answer]))


def refusal(call, *arguments, **options):
    try:
        call(*arguments, **options)
        return "accepted"
    except Exception as error:
        return type(error).__name__


client = Client(uri=f"esdb://{sys.argv[1]}?Tls=false")
name = "python-1"
events = [NewEvent(type="counted", data=b"{}") for _ in range(3)]
last = client.append_to_stream(name, current_version=StreamState.NO_STREAM, events=events)
seen = client.get_stream(name)
tell("the last event is where its append said", seen[-1].commit_position == last)
tell("revisions", [event.stream_position for event in seen])
tell("backwards", [event.stream_position for event in client.read_stream(name, backwards=True)])
subscription = client.subscribe_to_stream(name)
followed = [next(subscription) for _ in seen]
subscription.stop()
tell("followed", [event.stream_position for event in followed])
tell("positions agree", [e.commit_position for e in followed] == [e.commit_position for e in client.read_all()])
tell("delete at a wrong revision", refusal(client.delete_stream, name, current_version=9))
tell("tombstone at a wrong revision", refusal(client.tombstone_stream, name, current_version=9))
client.close()
