"""What the demo's customers order, and what the scripted model answers.

The replies are used in this order, whatever is asked; the orders run one by one.
"""

import json

from scripted_llm import Reply

TOOLS = {"key": "ada", "value": "Two red lamps, please."}
UNPARSABLE = {"key": "grace", "value": "I would like a blue mug."}
FAILING_TOOL = {"key": "linus", "value": "One red lamp. Charge my card right away."}

ORDERS = [TOOLS, UNPARSABLE, FAILING_TOOL]

LAMPS_ACCEPTED = {
    "sku": "LAMP-RED",
    "quantity": 2,
    "accepted": True,
    "reason": "7 in stock",
}
MUG_DECLINED = {
    "sku": "MUG-BLUE",
    "quantity": 1,
    "accepted": False,
    "reason": "out of stock",
}

TOOLS_REPLIES = [
    # Two tools in one response: one request event, one tool action, two executions.
    Reply.tool_calls(
        [
            ("search_catalog", {"query": "red lamp"}),
            ("check_stock", {"sku": "LAMP-RED"}),
        ],
        usage=(120, 35),
    ),
    Reply.slow(0.1, Reply.text(json.dumps(LAMPS_ACCEPTED), usage=(190, 28))),
]

UNPARSABLE_REPLIES = [
    # The OpenAI client repeats the request after these two by itself ...
    Reply.status(429),
    Reply.status(500),
    # ... and the host calls the client again after an answer that is not JSON.
    Reply.text("Sorry, blue mugs are sold out.", usage=(115, 9)),
    Reply.text(json.dumps(MUG_DECLINED), usage=(115, 30)),
]

FAILING_TOOL_REPLIES = [
    Reply.tool_calls(
        [("charge_card", {"customer": "linus", "amount": 25.0})], usage=(125, 20)
    ),
]

REPLIES = [*TOOLS_REPLIES, *UNPARSABLE_REPLIES, *FAILING_TOOL_REPLIES]
