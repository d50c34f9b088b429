"""HLO text for Pygments, and the table of rules that the TextMate grammar is made of (make_grammar.py)."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

# Written by make_grammar.py.
OPCODES = [
    "abs", "acos", "acosh", "add", "add-dependency", "after-all", "all-gather", "all-gather-done", "all-gather-start", "all-reduce",
    "all-reduce-done", "all-reduce-start", "all-to-all", "and", "asin", "asinh", "async-done", "async-start", "async-update", "atan", "atan2",
    "atanh", "batch-norm-grad", "batch-norm-inference", "batch-norm-training", "bitcast", "bitcast-convert", "broadcast", "call", "cbrt",
    "ceil", "cholesky", "clamp", "collective-broadcast", "collective-permute", "collective-permute-done", "collective-permute-start",
    "collective-reduce", "compare", "complex", "concatenate", "conditional", "constant", "convert", "convolution", "copy", "copy-done",
    "copy-start", "cosh", "cosine", "count-leading-zeros", "custom-call", "divide", "domain", "dot", "dynamic-reshape", "dynamic-slice",
    "dynamic-update-slice", "erf", "exponential", "exponential-minus-one", "fft", "floor", "fusion", "gather", "get-dimension-size",
    "get-tuple-element", "imag", "infeed", "iota", "is-finite", "log", "log-plus-one", "logistic", "map", "maximum", "minimum", "mulhi",
    "multiply", "negate", "not", "opt-barrier", "or", "outfeed", "pad", "parameter", "partition-id", "popcnt", "power", "ragged-all-to-all",
    "ragged-dot", "real", "recv", "recv-done", "reduce", "reduce-precision", "reduce-scatter", "reduce-window", "remainder", "replica-id",
    "reshape", "reverse", "rng", "rng-bit-generator", "rng-get-and-update-state", "round-nearest-afz", "round-nearest-even", "rsqrt",
    "scaled-dot", "scan", "scatter", "select", "select-and-scatter", "send", "send-done", "set-dimension-size", "shift-left",
    "shift-right-arithmetic", "shift-right-logical", "shuffle", "sign", "sine", "sinh", "slice", "sort", "sqrt", "stochastic-convert",
    "subtract", "tan", "tanh", "topk", "trace", "transpose", "triangular-solve", "tuple", "while", "xor",
]
TYPES = [
    "bf16", "buffer", "c128", "c64", "f16", "f32", "f4e2m1fn", "f64", "f6e2m3fn", "f6e3m2fn", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn",
    "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu", "opaque", "pred", "s1", "s16", "s2", "s32", "s4", "s64", "s8", "token", "u1", "u16",
    "u2", "u32", "u4", "u64", "u8",
]

_NAME = r"[A-Za-z_](?:[\w.$]|-(?!>))*"

# (regular expression, token of Pygments, scope of TextMate), the first that matches. Only strings may go on over lines; TextMate, which reads a
# line at a time, has a rule of its own for them (make_grammar.py).
RULES = [
    (r"//.*", Comment.Single, "comment.line.double-slash"),
    (r"/\*.*?\*/", Comment.Multiline, "comment.block"),
    (r'"(?:[^"\\]|\\.|\\\n)*"', String.Double, "string.quoted.double"),
    (r"'(?:[^'\\\n]|\\.)*'", String.Single, "string.quoted.single"),
    (r"\b(?:HloModule|ENTRY|ROOT|FileNames|FunctionNames|FileLocations|StackFrames)\b(?![\w.=-])", Keyword, "keyword.control"),
    (rf"\b(?:{'|'.join(sorted(TYPES, reverse=True))})(?=\[)", Keyword.Type, "storage.type"),
    (rf"\b(?:{'|'.join(sorted(OPCODES, reverse=True))})(?=\()", Name.Builtin, "support.function"),
    (r"\b(?:true|false|nan|inf)\b(?![\w.=-])", Keyword.Constant, "constant.language"),
    (rf"{_NAME}(?==)", Name.Attribute, "variable.parameter"),
    (rf"%(?:{_NAME}|[\d.-]+(?:[\w.$]|-(?!>))*)", Name.Variable, "variable.other"),
    (_NAME, Name, "variable.other"),
    (r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])", Number, "constant.numeric"),
    (r"-?\d\w*", Number, "constant.numeric"),
    (r"->|[-+*=<>?!&|^~:@#$/]", Operator, "keyword.operator"),
    (r"[][(){},;.]", Punctuation, "punctuation"),
]


class HloLexer(RegexLexer):
    name = "HLO"
    aliases = ["hlo"]
    filenames = ["*.hlo"]
    mimetypes = ["text/x-hlo"]
    url = "https://openxla.org/xla/operation_semantics"
    tokens = {"root": [(r"\s+", Whitespace), *((pattern, token) for pattern, token, _ in RULES)]}

    def analyse_text(text):
        return 1.0 if text.startswith("HloModule ") else 0.0
