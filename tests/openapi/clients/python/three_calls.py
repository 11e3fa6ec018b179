"""Logs in, creates a step and lists it, by the client that openapi-python-client generated."""

import json
import os

from parley_client import AuthenticatedClient, Client
from parley_client.api.accounts import login
from parley_client.api.steps import create_step, list_steps
from parley_client.models import Credentials, StepBody

url = os.environ["PARLEY_URL"]
credentials = Credentials(username=os.environ["PARLEY_USER"], password=os.environ["PARLEY_PASSWORD"])
session = login.sync(client=Client(base_url=url), body=credentials)

client = AuthenticatedClient(base_url=url, token=session.access_token)
step = StepBody(
    name="By Python", description="Ask for the address", instructions="Be polite", submit_when="It is known"
)
created = create_step.sync(client=client, body=step)
page = list_steps.sync(client=client, name="By Python")
print(json.dumps({"created": created.field_id, "listed": [each.field_id for each in page.data]}))
