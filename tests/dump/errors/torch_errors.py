# Mistakes in programs of PyTorch/XLA, one a function: torch_errors.py NAME… The recorded texts name these lines.
import sys, torch, torch_xla; device = torch_xla.device()
x = torch.ones(3, 5).to(device)
w = torch.ones(8, 4).to(device)

def mm(): return x @ w
def cat(): return torch.cat([x, w], 0)
def expand(): return x.expand(4, 5)
def flip(): return torch.flip(x, [0, 0])
def gather(): return torch.gather(x, 0, torch.zeros(4, 6, dtype=torch.int64).to(device))
def gather_rank(): return torch.gather(x, 0, torch.zeros(4, dtype=torch.int64).to(device))
def full(): return torch.full((-2,), 1.0, device=device)
def roll(): return torch.roll(x, [1, 2], [0])
def div(): return torch.div(x, x, rounding_mode='near')
def random_(): return x.random_(5, 2)
def stack(): return torch.stack([])
def add(): return x + w
def view(): return x.view(4, 4)
def index(): return x.index_select(3, torch.zeros(1, dtype=torch.int64).to(device))
def host(): return x + torch.ones(3, 5)  # no mistake: it is moved to the device
def conv(): return torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8).to(device), torch.ones(4, 2, 3, 3).to(device))

for name in sys.argv[1:]:
    try:
        r = globals()[name]()
        torch_xla.sync()
        print(name, 'succeeds', r.shape, flush=True)
    except Exception:
        import traceback
        with open(name + '.txt', 'w') as f: traceback.print_exc(file=f)
        print(name, traceback.format_exc().splitlines()[-1], flush=True)
