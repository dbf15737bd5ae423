"""What common secrets look like: the preset of `Masking.secrets()`.

Every repetition here is bounded or starts at one place only, so that a long text
is read once. What these cannot see stands in docs/masking.md.
"""

from __future__ import annotations

from typing import Final

KEYS: Final = (
    "access_token",
    "accesstoken",
    "api-key",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "client_secret",
    "clientsecret",
    "cookie",
    "id_token",
    "passwd",
    "password",
    "private_key",
    "privatekey",
    "proxy-authorization",
    "pwd",
    "refresh_token",
    "refreshtoken",
    "secret",
    "set-cookie",
    "token",
    "x-api-key",
)
"""Names of fields whose value is a secret, in lower case."""

# An equals sign or a colon, also between quotes of JSON inside a string.
_IS = r"\\{0,2}[\"']?\s{0,8}[:=]\s{0,8}\\{0,2}[\"']?"

PATTERNS: Final = (
    # Private keys (RFC 7468), also one that was cut off.
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-[\s\S]*?(?:-----END [A-Z ]{0,40}KEY-----|\Z)",
    # Bearer tokens (RFC 6750) and JSON Web Tokens (RFC 7519).
    r"(?i)\bbearer\s{1,8}[\w.~+/=-]{16,}",
    r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?",
    # API keys by their makers' prefixes: OpenAI, Anthropic, DeepSeek, DashScope
    # (sk-), Stripe, GitHub, GitLab, Slack, Google, AWS, Hugging Face, Alibaba Cloud.
    r"(?<![\w-])sk-[\w-]{16,}",
    r"(?<!\w)[prs]k_(?:live|test)_\w{16,}",
    r"(?<!\w)(?:gh[opsur]_|hf_|github_pat_)\w{20,}",
    r"(?<![\w-])(?:glpat-|xox[a-z]-|AIza)[\w-]{16,}",
    r"(?<!\w)(?:AKIA|ASIA|LTAI)[A-Z0-9a-z]{12,}",
    # The password in a URL (RFC 3986), and what a text itself calls a secret.
    r"(?<=://)[^\s/:@]{0,256}:[^\s/@]{1,256}(?=@)",
    rf"(?i)(?:api[_-]?key|token|secret|passw(?:or)?d|pwd){_IS}[^\s\"'\\,;&}}]{{4,}}",
    # E-mail addresses, as people write them (RFC 5322 allows more).
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
)
