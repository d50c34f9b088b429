// Every rule of algebraic simplification keeps every bit: the reference evaluator on the module as
// it is and behind the pass, and the platforms that compile it, on random numbers of many types.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "core/debug/compare/compare_bits.h"
#include "core/hlo/float_types.h"
#include "tests/compile/expression.h"
#include "tests/replay/gpu_runs.h"

namespace hloscope::replay {
namespace {

using hlo::ElementType;
using hlo::Literal;
using Types = std::vector<std::string>;

const Types kFloats = {"f64", "f32", "f16", "bf16"}, kSigned = {"s32", "s64"},
            kUnsigned = {"u8", "u32"}, kComplex = {"c64", "c128"}, kPred = {"pred"};

Types operator+(Types a, const Types& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `body`: # is the type, S its shape #[24,20], @ the end of every name; of x@ and y@ it makes r@.
// Where floats may be added in another order, only the evaluator is asked about them.
struct Row {
  const char* rule;
  Types types;
  std::string body;
  bool has_sums = false;
};

std::string With(const char* constant, const std::string& body) {
  return fmt::format("z@ = #[] constant({}) b@ = S broadcast(z@), dimensions={{}} {}", constant,
                     body);
}

std::vector<Row> Rows() {
  const Types integers = kSigned + kUnsigned, reals = kFloats + integers,
              numbers = reals + kComplex, all = numbers + kPred;
  const std::string one = "k@ = s32[] constant(3) ";
  return {
      {"Abs OfNegation", kFloats + kSigned, "n@ = S negate(x@) r@ = S abs(n@)"},
      {"Add NeutralOperand", kFloats, With("-0.0", "r@ = S add(x@, b@)")},
      {"Add NeutralOperand", integers, With("0", "r@ = S add(b@, x@)")},
      {"And NeutralOperand", kSigned, With("-1", "r@ = S and(x@, b@)")},
      {"And NeutralOperand", kPred, With("true", "r@ = S and(x@, b@)")},
      {"And AbsorbingOperand", integers, With("0", "r@ = S and(x@, b@)")},
      {"And EqualOperands", integers + kPred, "r@ = S and(x@, x@)"},
      {"BitcastConvert ChainOfBitcastConverts",
       {"f32"},
       "w@ = s32[24,20] bitcast-convert(x@) r@ = u32[24,20] bitcast-convert(w@)"},
      {"Broadcast ChainOfBroadcasts", all,
       "b@ = #[24,20,2] broadcast(x@), dimensions={0,1} "
       "r@ = #[24,20,2,3] broadcast(b@), dimensions={0,1,2}"},
      {"Broadcast BroadcastOfReshape", all,
       "w@ = #[24,1,20] reshape(x@) r@ = #[24,1,20,3] broadcast(w@), dimensions={0,1,2}"},
      {"Broadcast BroadcastThatReshapes", all, "r@ = #[1,24,20] broadcast(x@), dimensions={1,2}"},
      {"Compare OfEqualIntegers", integers, "r@ = pred[24,20] compare(x@, x@), direction=LE"},
      {"Concatenate ConcatenateOfOne", all, "r@ = S concatenate(x@), dimensions={1}"},
      {"Concatenate ChainOfConcatenates", all,
       "c@ = #[48,20] concatenate(x@, y@), dimensions={0} "
       "r@ = #[72,20] concatenate(c@, x@), dimensions={0}"},
      {"Convert ChainOfConverts", kFloats + Types{"s32", "u8", "u32"},
       "w@ = f64[24,20] convert(x@) r@ = S convert(w@)"},
      {"Convert ChainOfConverts",
       {"s32", "u8", "u32"},
       "w@ = s64[24,20] convert(x@) r@ = f32[24,20] convert(w@)"},
      {"Divide NeutralOperand", reals, With("1", "r@ = S divide(x@, b@)")},
      {"Divide DivideByPowerOfTwo", kFloats + kUnsigned, With("8", "r@ = S divide(x@, b@)")},
      {"Divide DivideByPowerOfTwo", kFloats, With("0.0009765625", "r@ = S divide(x@, b@)")},
      {"Dot DotOfTransposes", kFloats + kSigned,
       "t@ = #[20,24] transpose(x@), dimensions={1,0} r@ = #[20,20] dot(t@, y@), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
       true},
      {"DynamicSlice SliceOfEverything", all,
       one + "r@ = S dynamic-slice(x@, k@, k@), dynamic_slice_sizes={24,20}"},
      {"DynamicSlice SliceAtConstants", all,
       one + "r@ = #[7,5] dynamic-slice(x@, k@, k@), dynamic_slice_sizes={7,5}"},
      {"DynamicUpdateSlice UpdateOfEverything", all,
       one + "r@ = S dynamic-update-slice(x@, y@, k@, k@)"},
      {"DynamicUpdateSlice UpdateByItself", numbers,
       "k@ = s32[] constant(1) o@ = s32[] constant(9) s@ = #[22,19] slice(x@), "
       "slice={[2:24], [1:20]} n@ = #[22,19] negate(s@) "
       "r@ = S dynamic-update-slice(x@, n@, k@, o@)"},
      {"Gather GatherAtConstants", all,
       "k@ = s32[5,1] constant({{2}, {3}, {0}, {99}, {-1}}) r@ = #[24,5] gather(x@, k@), "
       "offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
       "slice_sizes={24,1}"},
      {"GetTupleElement ElementOfTuple", all,
       "t@ = (S, S) tuple(x@, y@) r@ = S get-tuple-element(t@), index=1"},
      {"Maximum EqualOperands", reals, "r@ = S maximum(x@, x@)"},
      {"Maximum NeutralOperand", kFloats, With("-inf", "r@ = S maximum(x@, b@)")},
      {"Minimum EqualOperands", reals, "r@ = S minimum(x@, x@)"},
      {"Minimum NeutralOperand", kFloats, With("inf", "r@ = S minimum(b@, x@)")},
      {"Multiply NeutralOperand", reals, With("1", "r@ = S multiply(x@, b@)")},
      {"Multiply AbsorbingOperand", reals, With("0", "r@ = S multiply(x@, b@)")},
      {"Negate DoubleNegation", numbers, "n@ = S negate(x@) r@ = S negate(n@)"},
      {"Not DoubleNegation", integers + kPred, "n@ = S not(x@) r@ = S not(n@)"},
      {"Or NeutralOperand", integers, With("0", "r@ = S or(x@, b@)")},
      {"Or AbsorbingOperand", kSigned, With("-1", "r@ = S or(x@, b@)")},
      {"Or AbsorbingOperand", kPred, With("true", "r@ = S or(x@, b@)")},
      {"Or EqualOperands", integers + kPred, "r@ = S or(x@, x@)"},
      {"Pad PadOfNothing", reals, "z@ = #[] constant(0) r@ = S pad(x@, z@), padding=0_0x0_0"},
      {"Pad PadThatCuts", reals,
       "z@ = #[] constant(0) r@ = #[23,19] pad(x@, z@), padding=-1_0x0_-1"},
      {"Power SmallPower", kFloats, With("1", "r@ = S power(x@, b@)")},
      {"Power SmallPower", kFloats, With("2", "r@ = S power(x@, b@)")},
      {"Reduce ReduceOfSingles", kFloats,
       "w@ = #[24,1,20] reshape(x@) z@ = #[] constant(-0.0) "
       "r@ = S reduce(w@, z@), dimensions={1}, to_apply=sum@"},
      {"Reduce ReduceOfSingles", integers,
       "w@ = #[24,1,20] reshape(x@) z@ = #[] constant(0) "
       "r@ = S reduce(w@, z@), dimensions={1}, to_apply=sum@"},
      {"Remainder RemainderOfPowerOfTwo", kUnsigned, With("8", "r@ = S remainder(x@, b@)")},
      {"Reshape ChainOfReshapes", all, "w@ = #[480] reshape(x@) r@ = #[20,24] reshape(w@)"},
      {"Reshape ReshapeOfScalarBroadcast", reals, With("1", "r@ = #[20,24] reshape(b@)")},
      {"Reverse ChainOfReverses", all,
       "w@ = S reverse(x@), dimensions={0,1} r@ = S reverse(w@), dimensions={1,0}"},
      {"Scatter ScatterOfOneWindow", numbers,
       "k@ = s32[2] constant({1,2}) s@ = #[5,6] slice(y@), slice={[0:5], [0:6]} "
       "r@ = S scatter(x@, k@, s@), update_window_dims={0,1}, inserted_window_dims={}, "
       "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=sum@"},
      {"Select ConstantChoice", all,
       "z@ = pred[] constant(false) b@ = pred[24,20] broadcast(z@), dimensions={} "
       "r@ = S select(b@, x@, y@)"},
      {"Select SelectByNegation", all, "n@ = pred[24,20] not(p) r@ = S select(n@, x@, y@)"},
      {"ShiftLeft NeutralOperand", integers, With("0", "r@ = S shift-left(x@, b@)")},
      {"ShiftRightArithmetic NeutralOperand", integers,
       With("0", "r@ = S shift-right-arithmetic(x@, b@)")},
      {"ShiftRightLogical NeutralOperand", integers,
       With("0", "r@ = S shift-right-logical(x@, b@)")},
      {"Slice SliceOfEverything", all, "r@ = S slice(x@), slice={[0:24], [0:20]}"},
      {"Slice ChainOfSlices", all,
       "s@ = #[22,10] slice(x@), slice={[1:23], [0:20:2]} "
       "r@ = #[10,3] slice(s@), slice={[5:15], [2:8:2]}"},
      {"Slice SliceOfScalarBroadcast", reals,
       With("1", "r@ = #[3,4] slice(b@), slice={[1:4], [0:4]}")},
      {"Slice SliceOfConcatenate", all,
       "c@ = #[48,20] concatenate(x@, y@), dimensions={0} "
       "r@ = #[9,20] slice(c@), slice={[26:35], [0:20]}"},
      {"Subtract NeutralOperand", reals, With("0", "r@ = S subtract(x@, b@)")},
      {"Subtract DifferenceOfEqualIntegers", integers, "r@ = S subtract(x@, x@)"},
      {"Transpose ChainOfTransposes", all,
       "w@ = #[20,24] transpose(x@), dimensions={1,0} r@ = S transpose(w@), dimensions={1,0}"},
      {"Transpose TransposeOfBroadcast", all,
       "b@ = #[24,20,2] broadcast(x@), dimensions={0,1} "
       "r@ = #[2,24,20] transpose(b@), dimensions={2,0,1}"},
      {"Transpose TransposeThatReshapes", all,
       "w@ = #[24,1,20] reshape(x@) r@ = #[24,20,1] transpose(w@), dimensions={0,2,1}"},
      {"Transpose TransposeOfDot", kFloats + kSigned,
       "d@ = #[20,20] dot(x@, y@), lhs_contracting_dims={0}, rhs_contracting_dims={0} "
       "r@ = #[20,20] transpose(d@), dimensions={1,0}",
       true},
      {"Tuple TupleOfElements", all,
       "t@ = (S, S) tuple(x@, y@) o@ = (S, S) opt-barrier(t@) a@ = S get-tuple-element(o@), "
       "index=0 c@ = S get-tuple-element(o@), index=1 u@ = (S, S) tuple(a@, c@) "
       "v@ = (S, S) opt-barrier(u@) r@ = S get-tuple-element(v@), index=1"},
      {"While WhileThatNeverTurns", reals, "r@ = S while(x@), condition=never@, body=twice@"},
      {"Xor NeutralOperand", integers, With("0", "r@ = S xor(x@, b@)")},
  };
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string Of(const std::string& type, std::string text) {
  ReplaceAll(text, "S ", "#[24,20] ");
  ReplaceAll(text, "S,", "#[24,20],");
  ReplaceAll(text, "S)", "#[24,20])");
  ReplaceAll(text, "#", type);
  ReplaceAll(text, "@", "_" + type);
  return text;
}

// A result of each type.
std::string TextOf(const Row& row) {
  std::string computations, entry = "  p = pred[24,20] parameter(0)\n", results;
  size_t number = 0;
  for (const std::string& type : row.types) {
    computations += Of(type, R"(
sum@ { a@ = #[] parameter(0) e@ = #[] parameter(1) ROOT f@ = #[] add(a@, e@) }
never@ { g@ = S parameter(0) ROOT h@ = pred[] constant(false) }
twice@ { i@ = S parameter(0) ROOT j@ = S add(i@, i@) })");
    const size_t x = ++number, y = ++number;
    entry +=
        Of(type, fmt::format("  x@ = S parameter({}) y@ = S parameter({}) {}\n", x, y, row.body));
    results += (results.empty() ? "" : ", ") + Of(type, "r@");
  }
  std::string types;
  const auto module =
      hlo::ParseText("HloModule m\n" + computations + "\nENTRY e {\n" + entry + "}");
  for (const std::string& type : row.types) {
    const hlo::InstructionId id = hlo::Named(*module.module, Of(type, "r@"));
    types += (types.empty() ? "" : ", ") + hlo::ToString(module.module->shape(id), false);
  }
  return fmt::format("HloModule m\n{}\nENTRY e {{\n{}  ROOT all = ({}) tuple({})\n}}", computations,
                     entry, types, results);
}

// One half any bits there are, the other of the size that numbers usually have.
Literal Random(const hlo::Shape& shape, std::mt19937_64& random) {
  const ElementType type = shape.element_type();
  std::vector<std::byte> bytes(static_cast<size_t>(*shape.ByteSize()));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  if (type == ElementType::kPred) {
    for (std::byte& byte : bytes) byte &= std::byte{1};
  }
  const ElementType part = hlo::IsComplex(type) ? hlo::RealPart(type) : type;
  if (hlo::IsFloat(part)) {
    const size_t count = bytes.size() / static_cast<size_t>(hlo::StorageBytes(part)) / 2;
    std::uniform_real_distribution<double> usual(-100, 100);
    std::vector<double> values(count);
    for (double& value : values) value = usual(random);
    values[0] = -63.759266228665545;  // whose square pow of libm rounds the wrong way
    hlo::EncodeFloats(part, values, std::span(bytes).first(bytes.size() / 2));
  }
  return Literal::Dense(shape, std::move(bytes));
}

// All NaNs made one.
Literal WithoutPayloads(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  const ElementType part = hlo::IsComplex(type) ? hlo::RealPart(type) : type;
  if (!hlo::IsFloat(part)) return literal;
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  const auto size = static_cast<size_t>(hlo::StorageBytes(part));
  std::vector<double> values(bytes.size() / size);
  hlo::DecodeFloats(part, bytes, values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) std::memset(&bytes[i * size], 0xff, size);
  }
  return Literal::Dense(literal.shape(), std::move(bytes));
}

void ExpectSameBits(const Row& row, const std::string& who, std::span<const Literal> actual,
                    std::span<const Literal> expected, bool with_floats) {
  ASSERT_EQ(actual.size(), expected.size()) << row.rule << " " << who;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!with_floats && hlo::IsFloat(actual[i].shape().element_type())) continue;
    const auto result =
        debug::CompareBits(WithoutPayloads(actual[i]), WithoutPayloads(expected[i]));
    EXPECT_TRUE(result.equal()) << row.rule << " of " << row.types[i] << ", " << who << ": "
                                << result.mismatched << " of " << result.elements
                                << " elements, the first "
                                << (result.first_mismatch
                                        ? result.first_mismatch->actual + " instead of " +
                                              result.first_mismatch->expected
                                        : result.problem);
  }
}

TEST(SimplifierRules, KeepEveryBit) {
  std::set<std::string> tested;
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.rule);
    tested.emplace(row.rule);
    const std::string text = TextOf(row);
    const auto module = hlo::Parsed(text);
    const auto simplified = compile::AfterPass("algebraic-simplification", text);
    EXPECT_NE(compile::Expression(*simplified), compile::Expression(*module)) << "is not applied";
    std::mt19937_64 random(7);
    std::vector<Literal> inputs;
    for (const hlo::InstructionId id : module->Parameters(module->entry_id()))
      inputs.push_back(Random(module->shape(id), random));
    const auto run = [&](std::string_view platform, const hlo::Module& of) {
      std::string printed;
      hlo::PrintText(of, hlo::TextFormat::kHlo, printed);
      const Outcome outcome = RunOn(platform, printed.c_str(), inputs);
      EXPECT_FALSE(outcome.error.has_value()) << platform << ": " << outcome.error->ToString();
      return outcome.results;
    };
    const std::vector<Literal> meant = run("interpreter", *module);
    ExpectSameBits(row, "simplified", run("interpreter", *simplified), meant, true);
    for (const char* platform : {"cpu", "gpu-sim"})
      ExpectSameBits(row, platform, run(platform, *module), meant, !row.has_sums);
  }
  std::set<std::string> rules;
#define RULE(opcode, function) rules.emplace(std::string(#opcode).substr(1) + " " #function);
#include "core/compile/passes/simplify/rules.def"
#undef RULE
  EXPECT_EQ(tested, rules);
}

}  // namespace
}  // namespace hloscope::replay
