"""Secrets of every kind that gitleaks and bug reports know, made from a seed: none is real and none is written down here.

A row is (kind, text, parts): `text` is what a person or a program may write, and no part may be left of it."""
import base64
import random
import string

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
LETTERS, ALNUM, HEX = string.ascii_letters, string.ascii_letters + string.digits, string.digits + 'abcdef'
BASE64 = ALNUM + '+/'
URLSAFE = ALNUM + '-_'

# Tokens that are known by how they begin: (kind, prefix, length, alphabet). Each is written in all of WRAPPED.
PREFIXED = [
    ('aws id', 'AKIA', 16, UPPER + '234567'), ('gcp key', 'AIza', 35, URLSAFE), ('gcp token', 'ya29.', 60, URLSAFE),
    ('gcp client', 'GOCSPX-', 28, URLSAFE), ('hugging face', 'hf_', 34, LETTERS), ('hugging face group', 'api_org_', 34, LETTERS), ('github', 'ghp_', 36, ALNUM),
    ('github fine', 'github_pat_', 60, ALNUM + '_'), ('gitlab', 'glpat-', 20, URLSAFE), ('slack bot', 'xoxb-', 40, DIGITS + LETTERS + '-'),
    ('slack app', 'xapp-1-A', 40, ALNUM + '-'), ('stripe', 'sk_live_', 24, ALNUM), ('stripe restricted', 'rk_live_', 24, ALNUM),
    ('twilio key', 'SK', 32, HEX), ('databricks', 'dapi', 32, HEX), ('vault', 'hvs.', 90, URLSAFE),
    ('age', 'AGE-SECRET-KEY-1', 58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'), ('openai', 'sk-', 48, ALNUM), ('openai project', 'sk-proj-', 80, URLSAFE),
    ('anthropic', 'sk-ant-api03-', 90, URLSAFE), ('npm', 'npm_', 36, ALNUM), ('pypi', 'pypi-AgEIcHlwaS5vcmc', 60, URLSAFE),
    ('sendgrid', 'SG.', 66, URLSAFE), ('jwt', 'eyJ', 60, URLSAFE), ('digital ocean', 'dop_v1_', 64, HEX), ('docker', 'dckr_pat_', 27, URLSAFE),
    ('grafana', 'glsa_', 41, ALNUM + '_'), ('grafana cloud', 'glc_', 60, ALNUM), ('new relic', 'NRAK-', 27, UPPER + DIGITS),
    ('postman', 'PMAK-', 59, HEX + '-'), ('doppler', 'dp.pt.', 43, ALNUM), ('shopify', 'shpat_', 32, HEX), ('linear', 'lin_api_', 40, ALNUM),
    ('replicate', 'r8_', 37, ALNUM), ('fireworks', 'fw_', 24, ALNUM), ('groq', 'gsk_', 52, ALNUM), ('xai', 'xai-', 80, ALNUM), ('perplexity', 'pplx-', 48, HEX),
    ('langsmith', 'lsv2_pt_', 43, HEX + '_'), ('supabase', 'sbp_', 40, HEX), ('gitlab job', 'glcbt-64_', 20, URLSAFE), ('docker organisation', 'dckr_oat_', 32, URLSAFE), ('supabase secret', 'sb_secret_', 31, URLSAFE), ('named by its service', 'acme_live_', 28, ALNUM), ('named by its service, hex', 'corp-token-', 32, HEX),
    ('notion', 'ntn_', 46, ALNUM), ('nvidia', 'nvapi-', 64, URLSAFE),
    ('alibaba', 'LTAI', 20, ALNUM), ('tencent', 'AKID', 32, ALNUM), ('planetscale', 'pscale_tkn_', 43, URLSAFE), ('mailgun', 'key-', 32, HEX),
    ('square', 'sq0atp-', 22, URLSAFE), ('facebook', 'EAACEdEose0cBA', 60, ALNUM), ('tailscale', 'tskey-auth-', 40, ALNUM + '-'),
    ('ssh', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI', 43, BASE64), ('cloudflare', 'v1.0-', 160, HEX + '-'), ('buildkite', 'bkua_', 40, HEX),
]
WRAPPED = ['{}', 'TOOL_VALUE={}', '"value": "{}"', '--value {}', 'https://api.example.org/v1?value={}', 'then {} was sent, twice']

# Secrets that only their names show.
NAMED = [
    'token={}', '"token": "{}"', "'token': '{}'", 'Token: {}', 'Cookie: session={}; theme=dark', 'Set-Cookie: sid={}; Path=/', 'sessionid={}',
    'session_id: {}', 'pwd: {}', 'PWD_DB={}', '--password {}', '--password={}', '--pass {}', 'mysql -p{} db', 'sshpass -p {} ssh host',
    'curl -u admin:{} https://acme.example.com/', 'machine h login u password {}', 'PGPASSWORD={} psql', 'Authorization: Bearer {}',
    'Authorization: Basic {}', 'Authorization: token {}', 'authorization="Bearer {}"', 'Proxy-Authorization: Digest {}',
    'X-Api-Key: {}', 'api_key: {}', 'apikey={}', 'client_secret={}', '"clientSecret":"{}"', 'passphrase = "{}"', 'secret: {}', 'aws_secret_access_key = {}',
    'https://user:{}@host.example.com/x', 'postgresql://app:{}@db.example.com:5432/x', 'password%3D{}', 'password%3A%20{}', '\\u0070assword\\u003d{}',
    '"\\u0070assword": "{}"', 'access_token={}', 'refresh_token: {}', 'AccountKey={};EndpointSuffix=core', 'sig={}&se=2030', 'private_key={}',
    'HF_TOKEN={}', 'WANDB_API_KEY={}', 'export MY_AUTH={}', 'credentials={}', 'login_password: {}', 'Signature={}', 'DB_PASS={}', 'db.password={}',
    'spring.datasource.password: {}', 'passwd {}', 'encryption_key={}', 'signing-key: {}', 'setx API_TOKEN {}', 'the password is {} today',
    'passphrase was {}', 'Passwort: {}', 'mot de passe: {}', 'contraseña: {}', 'secret pin: {}', 'password%253D{}', 'password%25253A{}', 'password&#61;{}', 'password&#x3d;&quot;{}&quot;',
    '\\160assword={}', '"{{\\"password\\": \\"{}\\"}}"', '"{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}"', 'p=61=73sword: {}',
]

# Encodings of a text that holds a secret: (name, encoder). One that stands for characters one by one leaves nothing of the secret's own.
ENCODINGS = [
    ('base 64', base64.b64encode), ('base 64 for URLs', lambda b: base64.urlsafe_b64encode(b'>>?' + b)), ('base 64 twice', lambda b: base64.b64encode(base64.b64encode(b))),
    ('base 64 of UTF-16', lambda b: base64.b64encode(b.decode().encode('utf-16le'))), ('base 32', base64.b32encode), ('base 32, small', lambda b: base64.b32encode(b).lower()),
    ('base 32 hex', base64.b32hexencode), ('base 85', base64.b85encode), ('ascii 85', base64.a85encode), ('ascii 85, framed', lambda b: base64.a85encode(b, adobe=True)), ('hex', lambda b: b.hex().encode()),
]
BY_CHARACTER = [
    ('hex bytes', lambda b: b.hex(' ')), ('hex list', lambda b: ','.join(f'0x{c:02x}' for c in b)), ('decimal list', lambda b: ', '.join(str(c) for c in b)),
    ('percent', lambda b: ''.join(f'%{c:02X}' for c in b)), ('XML', lambda b: ''.join(f'&#{c};' for c in b)), ('JSON', lambda b: ''.join(f'\\u{c:04x}' for c in b)),
    ('octal', lambda b: ''.join(f'\\{c:03o}' for c in b)), ('mail', lambda b: ''.join(f'={c:02X}' for c in b)),
]


def padded_keys(seed, count):
    """Keys of 64 bytes in base 64, which end in ==."""
    rng = random.Random(seed)
    return [base64.b64encode(bytes(rng.randrange(256) for _ in range(64))).decode() for _ in range(count)]


def make(seed):
    """The rows of one seed."""
    rng = random.Random(seed)

    def text(length, alphabet=ALNUM):
        return ''.join(rng.choice(alphabet) for _ in range(length))

    def password():
        """At least a digit and a letter; letters and digits are a run of ten, so that a part of it is known again."""
        core = rng.choice(LOWER) + text(4) + rng.choice(DIGITS) + text(4)
        return core + rng.choice(['', '!', text(8)]), core

    rows = []
    for kind, prefix, length, alphabet in PREFIXED:
        body = text(length - 1, alphabet) + rng.choice([c for c in alphabet if c not in '-_=.+/'])
        secret = prefix + body
        for wrapping in WRAPPED:
            rows.append((f'{kind} in {wrapping}', wrapping.format(secret), [body[-10:], body[:10]]))
    for form in NAMED:
        secret, core = password()
        rows.append((form, form.format(secret), [core]))
    # Known by their form alone.
    aws = text(3, UPPER) + text(3, LOWER) + text(3, DIGITS) + text(14) + '/' + text(16)
    azure = base64.b64encode(bytes(rng.randrange(256) for _ in range(64))).decode()
    discord = 'MT' + text(22) + '.G' + text(5) + '.' + text(38, URLSAFE)
    telegram = text(9, '123456789') + ':AA' + text(33, URLSAFE)
    alone = [('aws secret', aws, [aws[:12], aws[-12:]]), ('azure', azure, [azure[:12], azure[-14:-2]]), ('discord', discord, [discord[:12], discord[-12:]]),
             ('telegram', telegram, [telegram[-12:]]), ('hex 40', text(40, HEX), None), ('hex 64', text(64, HEX), None)]
    for kind, secret, parts in alone:
        for wrapping in WRAPPED:
            rows.append((f'{kind} in {wrapping}', wrapping.format(secret), parts or [secret[:10], secret[-10:]]))
    lines = '\n'.join(text(64, BASE64) for _ in range(4))
    for kind in ('RSA ', 'OPENSSH ', 'EC ', ''):
        rows.append((f'pem {kind}', f'-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----', lines.split('\n')))
    # Who and where.
    user = text(9, LOWER)
    for form in ('/home/{}/proj/x.py', 'jit(f)//home/{}/proj/x', 'jit(f)/jit(main)//Users/{}/y/dot', 'scope//scratch/{}/z', '/scratch/{}/z', '~{}/ckpt',
                 'in ~{}/runs now', 'C:\\Users\\{}\\m.py', 'C:/Users/{}/m.py', '\\\\{}\\share\\m.py', 'file:///home/{}/m', '/gpfs/proj/{}/run', '/data/{}/m.py:12',
                 'gs://{}/ckpt', 's3://{}/a/b', 'hdfs://{}/a', '{}+ml@acme.de', '{}@acme.example.com', 'svc@{}', 'ssh {}@10.0.0.1', 'rsync {}@gpu17:/data x',
                 'USER={}', 'user: {}', 'username={}', '"user": "{}"', '/afs/cs.example.edu/user/{}/x', '/lustre/{}/y', '/mnt/{}/w', '/workspace/{}/m.py'):
        rows.append((form, form.format(user), [user]))
        user = text(9, LOWER)
    for form in ('{}', 'peer {}:8476', 'http://{}/x', 'from {} to'):
        for net in ('93.184.{}.{}', '100.64.{}.{}', '100.127.{}.{}', '10.3.{}.{}', '172.16.{}.{}', '192.168.{}.{}', '8.8.{}.{}'):
            address = net.format(rng.randrange(10, 250), rng.randrange(10, 250))
            rows.append((f'address {net} in {form}', form.format(address), [address]))
    v6 = 'fd00:' + ':'.join(text(4, HEX) for _ in range(4)) + '::' + text(3, HEX) + '1'
    short = '2a01:' + text(4, '123456789abcdef') + '::' + text(3, '123456789abcdef')
    mac = ':'.join(text(2, HEX) for _ in range(6))
    for kind, value in (('ipv6', v6), ('ipv6 short', short), ('mac', mac)):
        for form in ('{}', 'link {} up', '[{}]:8080', 'addr={}'):
            rows.append((f'{kind} in {form}', form.format(value), [value]))
    for ending in ('de', 'co.uk', 'fr', 'jp', 'cn', 'com', 'edu', 'internal', 'corp.local', 'io', 'com.br', 'in', 'ai', 'ch'):
        for form in ('{}', 'from {}:2222', 'wget http://{}/m', 'on {} rank 3'):
            host = f'trainer{text(5, DIGITS)}.acme.{ending}'
            rows.append((f'host .{ending} in {form}', form.format(host), [host.split('.')[0]]))
    for form in ('JAX_COORDINATOR_ADDRESS={}:1234', 'MASTER_ADDR={}', 'hostname: {}', 'host={}', 'coordinator_address={}:8476', '--coordinator {}:99', 'MASTER={}:2',
                 '{{"cluster": {{"worker": ["{}.acme.de:2222"], "ps": ["p.acme.de:1"]}}}}', 'SLURM_JOB_NODELIST={}', 'TPU_WORKER_HOSTNAMES={}', 'nodename={}'):
        host = 'gn' + text(6, DIGITS)
        rows.append((form, form.format(host), [host]))
    ssn = f'{text(3, "12345678")}-{text(2, "123456789")}-{text(4, "123456789")}'
    card = ['4' + text(3, DIGITS)] + [text(4, DIGITS) for _ in range(3)]
    digits = [int(c) for c in ''.join(card)[:-1]]
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(digits))
    card[3] = card[3][:3] + str(-total % 10)
    for form in ('{}', 'ssn {}.', 'id={}'):
        rows.append((f'ssn in {form}', form.format(ssn), [ssn]))
    for kind, value in (('spaces', ' '.join(card)), ('dashes', '-'.join(card)), ('plain', ''.join(card))):
        for form in ('{}', 'card {} paid', 'card={}'):
            rows.append((f'card with {kind} in {form}', form.format(value), [value, card[2] + card[3]]))
    for kind, value in (('german', f'+49 170 {text(7, DIGITS)}'), ('american', f'+1 (415) 555-{text(4, DIGITS)}'), ('dashes', f'415-{text(3, DIGITS)}-{text(4, DIGITS)}'),
                        ('plain', f'+4917{text(8, DIGITS)}')):
        for form in ('{}', 'call {}.', 'phone: {}'):
            rows.append((f'phone {kind} in {form}', form.format(value), [value]))
    for name, encode in ENCODINGS:
        hidden = encode(f'loc("/home/{text(9, LOWER)}/k.py") password={password()[0]} end'.encode()).decode()
        for form in ('{}', 'see {} there', '"body": "{}"'):
            rows.append((f'{name} in {form}', form.format(hidden), [hidden[12:28], hidden[len(hidden) // 2:][:12]]))
    for name, encode in BY_CHARACTER:
        secret, core = password()
        hidden = encode(f'loc("/home/x/k.py") password={secret} end'.encode())
        rows.append((f'{name} of characters', hidden, [encode(core.encode())]))
    for form in ('{}:8476', 'peer {}:1234 is lost', 'tcp://{}:9000', 'workers {}-1:2222,{}-2:2222', '({}3:2222)', '"{}:1234"', 'grpc://{}:8470/x', 'on ip-10-3-{}-17 now'):
        name = text(8, 'abcdefghkmnprstuvw') if 'ip-' not in form else text(1, '123') + text(2, '4567890')
        rows.append((f'first name in {form}', form.replace('{}', name), [f'3-{name}-17' if 'ip-' in form else name]))
    for form in ('arn:aws:iam::123456789012:user/{}', 'git@github.com:{}/private.git', 'whoami: {}', 'projects/{}-prod/locations/us', '{}abcdefghijklmnopqrstuvwxyz234567abcdefgh.onion'):
        name = text(9, 'abcdefghkmnprstuvw')
        rows.append((form, form.format(name), [name]))
    for kind, value in (('mac with dashes', '0a-' + '-'.join(text(2, HEX) for _ in range(4)) + '-b1'), ('mac in threes', f'0a{text(2, HEX)}.{text(4, HEX)}.{text(3, HEX)}1')):
        rows.append((kind, f'link {value} up', [value]))
    bban = text(18, DIGITS)
    iban = f"DE{98 - int(bban + '131400') % 97:02}{bban}"
    for form in ('{}', 'IBAN {}.'):
        rows.append((f'account in {form}', form.format(iban), [iban[4:]]))
        spaced = ' '.join(iban[i:i + 4] for i in range(0, 22, 4))
        rows.append((f'account with blanks in {form}', form.format(spaced), [spaced[5:]]))
    local = f'0170/{text(7, DIGITS)}'
    rows.append(('local phone', f'Tel.: {local}', [local]))
    for form in ('ACMEDOM\\\\{} logged in', 'by CORP-EU\\{}'):
        name = text(1, 'acdeghijkl') + text(8, LOWER)
        rows.append((f'domain of Windows in {form}', form.format(name), [name]))
    for kind, value in (('argon2', '$argon2id$v=19$m=65536,t=3,p=4$' + text(22, BASE64) + '$' + text(43, BASE64)), ('sha512crypt', '$6$' + text(8) + '$' + text(86, ALNUM + './')),
                        ('bcrypt', '$2b$12$' + text(53, ALNUM + './'))):
        for form in ('{}', 'hash: {}', '"h": "{}"'):
            rows.append((f'{kind} in {form}', form.format(value), [value[-14:]]))
    letters = 'pat' + text(14, LETTERS) + '.' + text(64, HEX)
    rows.append(('pair of letters', letters, [letters[3:17], letters[-12:]]))
    pair = 'pat' + text(13) + '7.' + text(64, HEX)
    rows.append(('pair', f'use {pair}', [pair[:12], pair[-12:]]))
    login = text(39, HEX) + '7'
    rows.append(('login', f'wandb login {login}', [login[:12]]))
    uuid = '-'.join(text(n, HEX) for n in (8, 4, 4, 4, 12))
    for form in ('{}', 'run {} done', 'id={}'):
        rows.append((f'uuid in {form}', form.format(uuid), [uuid]))
    return rows
