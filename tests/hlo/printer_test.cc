// What the four text formats print: rows of attributes, orders, headers, asynchronous forms, and
// that the lossless format reads back as it was.
#include <gtest/gtest.h>

#include <string>

#include "core/hlo/text/text.h"

namespace hloscope::hlo {
namespace {

std::shared_ptr<const Module> Read(const std::string& text) {
  ParseResult result = ParseText(text);
  EXPECT_TRUE(result.ok()) << text << "\n"
                           << (result.diagnostics.empty() ? "" : result.diagnostics[0].message);
  return result.module;
}

std::string Print(const std::string& text, TextFormat format) {
  std::string out;
  if (auto module = Read(text)) PrintText(*module, format, out);
  return out;
}

// The line of `name` in a print, without its indentation.
std::string LineOf(const std::string& print, const std::string& name) {
  size_t at = print.find(name + " = ");
  if (at == std::string::npos) return "no " + name + " in\n" + print;
  return print.substr(at, print.find('\n', at) - at);
}

std::string Around(const std::string& instruction) {
  return R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
neg { a = f32[] parameter(0)
  ROOT n = f32[] negate(a) }
ENTRY e {
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  z = f32[] constant(0)
  i = s32[] constant(0)
  tok = token[] after-all()
  ROOT r = )" +
         instruction + "\n}\n";
}

struct Row {
  const char* read;
  const char* printed;  // behind `%r = `
};

constexpr Row kRows[] = {
    {"f32[8,8] broadcast(z)", "f32[8,8]{1,0} broadcast(%z), dimensions={}"},
    {"f32[8,8] map(x, y), dimensions={0}, to_apply=sum",
     "f32[8,8]{1,0} map(%x, %y), dimensions={0,1}, to_apply=%sum"},
    {"f32[8,8] all-reduce(x), to_apply=sum",
     "f32[8,8]{1,0} all-reduce(%x), replica_groups={}, to_apply=%sum"},
    {"f32[8,8,8,8] dot(x, y), operand_precision={default,default}",
     "f32[8,8,8,8]{3,2,1,0} dot(%x, %y), lhs_contracting_dims={}, rhs_contracting_dims={}"},
    {"f32[3,8] slice(x), slice={[1:7:2],[0:8]}",
     "f32[3,8]{1,0} slice(%x), slice={[1:7:2], [0:8:1]}"},
    {"f32[10,10] pad(x, z), padding=1_1x0_1_1", "f32[10,10]{1,0} pad(%x, %z), padding=1_1_0x0_1_1"},
    {"pred[8,8] compare(x, y), direction=LT, type=FLOAT",
     "pred[8,8]{1,0} compare(%x, %y), direction=LT"},
    {"(f32[8,3], s32[8,3]) topk(x), k=3",
     "(f32[8,3]{1,0}, s32[8,3]{1,0}) topk(%x), k=3, largest=true"},
    {"token[] outfeed(x, tok)", "token[] outfeed(%x, %tok), outfeed_shape=f32[8,8]{1,0}"},
    {"f32[8,8] custom-call(x), to_apply=sum, custom_call_target=\"t\"",
     "f32[8,8]{1,0} custom-call(%x), custom_call_target=\"t\", called_computations={%sum}"},
    {"f32[8,8] exponential(x), result_accuracy={mode=highest}, metadata={source_line=3}, "
     "statistics={visualizing_index=1,a=0.1234567}, control-predecessors={i, z, i}, "
     "frontend_attributes={b=\"'\",a={\"j\":1}}, backend_config=\"{}\"",
     "f32[8,8]{1,0} exponential(%x), frontend_attributes={a={\"j\":1},b=\"\\'\"}, "
     "control-predecessors={%i, %z}, statistics={visualizing_index=1,a=0.123457}, "
     "result_accuracy={mode=highest}, backend_config={}"},
    {"(f32[8,8], f32[8,8]) tuple(x, y), sharding={replicated}",
     "(f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(%x, %y), sharding={{replicated}, {replicated}}"},
    // Values that XLA takes in either case; others it does not.
    {"f32[8,8] exponential(x), result_accuracy={mode=HIGHEST}",
     "f32[8,8]{1,0} exponential(%x), result_accuracy={mode=highest}"},
    {"f32[8,8,8,8] dot(x, y), operand_precision={HIGH,Default}, algorithm=DOT_BF16_BF16_F32",
     "f32[8,8,8,8]{3,2,1,0} dot(%x, %y), lhs_contracting_dims={}, rhs_contracting_dims={}, "
     "operand_precision={high,default}, algorithm=dot_bf16_bf16_f32"},
    {"f32[4] rng(z, z), distribution=RNG_Normal", "f32[4]{0} rng(%z, %z), distribution=rng_normal"},
    {"f32[4] custom-call(x), custom_call_target=\"t\", schedule=schedule_latest, "
     "api_version=api_version_typed_ffi",
     "f32[4]{0} custom-call(%x), custom_call_target=\"t\", schedule=SCHEDULE_LATEST, "
     "api_version=API_VERSION_TYPED_FFI"},
    // A tuple literal has the shapes of its leaves.
    {"f32[4] custom-call(), custom_call_target=\"t\", literal=(s32[2]{0} {1, 2}, (f32[] 3), ())",
     "f32[4]{0} custom-call(), custom_call_target=\"t\", "
     "literal=( s32[2]{0} {1, 2}, ( f32[] 3 ), (  ) )"},
    {"f32[4] custom-call(), custom_call_target=\"t\", literal=s32[2,2]{0,1} {{1,2},{3,4}}",
     "f32[4]{0} custom-call(), custom_call_target=\"t\", "
     "literal=s32[2,2]{0,1} { { 1, 2 }, { 3, 4 } }"},
    {"f32[4] custom-call(), custom_call_target=\"t\", literal=f32[<=2]{0} {1, 2}",
     "f32[4]{0} custom-call(), custom_call_target=\"t\", literal=f32[2]{0} {1, 2}"},
    {"f32[8,8] custom-call(x), custom_call_target=\"t\", window={}",
     "f32[8,8]{1,0} custom-call(%x), window={}, custom_call_target=\"t\""},
    {"f32[8,8] collective-permute(x, y, tuple(i, i), tuple(i, i)), source_target_pairs={{0,1}}, "
     "slice_sizes={ { 1, 2 } }",
     "f32[8,8]{1,0} collective-permute(%x, %y, %tuple.anon, %tuple.anon.1), "
     "source_target_pairs={{0,1}}, slice_sizes={{1,2}}"},
    {"f32[12] constant({1,2,3,4,5,6,7,8,9,10,11,12})", "f32[12]{0} constant({...})"},
    {"s4[2]{0:E(4)} constant({1,-1})", "s4[2]{0} constant({1, -1})"},
    {"f32[<=3] constant({1,2,3})", "f32[3]{0} constant({1, 2, 3})"},
    {"f32[4] batch-norm-inference(x, z, z, z, z), epsilon=nan, feature_index=1",
     "f32[4]{0} batch-norm-inference(%x, %z, %z, %z, %z), epsilon=nan, feature_index=1"},
    {"(f32[8,8], s32[2]) ragged-all-to-all(x, y, i, i, i, i), dimensions={0}",
     "(f32[8,8]{1,0}, s32[2]{0}) ragged-all-to-all(%x, %y, %i, %i, %i, /*index=5*/%i), "
     "replica_groups={}"},
    {"f32[8,8] convolution(x, y), dim_labels=bf_io->bf, operand_precision={high,high}, "
     "convolution_kind=fprop",
     "f32[8,8]{1,0} convolution(%x, %y), dim_labels=bf_io->bf, convolution_kind=fprop, "
     "operand_precision={high,high}"},
    // The aliasing of a call is that of its async-start.
    {"((f32[]), f32[], s32[]) call-start(z), to_apply=neg, output_to_operand_aliasing={{1}: (0, "
     "{})}",
     "((f32[]), f32[], s32[]) call-start(%z), to_apply=%neg, "
     "output_to_operand_aliasing={{1}: (0, {})}"},
    // What the origin leaves out is an empty tuple, and nothing at the end.
    {"(f32[8,8], s32[], (f32[], f32[])) tuple(x, i, tuple(z, z)), origin={({\"a\"}, , (,))}",
     "(f32[8,8]{1,0}, s32[], (f32[], f32[])) tuple(%x, %i, %tuple.anon), origin={({\"a\"})}"},
    {"(f32[8,8], s32[], f32[]) tuple(x, i, z), origin={({\"a\"}, , {\"b\"})}",
     "(f32[8,8]{1,0}, s32[], f32[]) tuple(%x, %i, %z), origin={({\"a\"}, (), {\"b\"})}"},
};

TEST(PrinterTest, PrintsAttributesAsXla) {
  for (const Row& row : kRows) {
    std::string print = Print(Around(row.read), TextFormat::kElided);
    EXPECT_EQ(LineOf(print, "%r"), std::string("%r = ") + row.printed);
  }
}

TEST(PrinterTest, OrdersInstructionsFromTheirUsers) {
  std::string text = R"(HloModule m
ENTRY e {
  a = f32[] parameter(0)
  late = f32[] constant(1)
  dead = f32[] negate(a)
  b = f32[] parameter(1)
  ROOT r = f32[] subtract(b, late)
}
)";
  EXPECT_EQ(Print(text, TextFormat::kShort),
            R"(HloModule m, entry_computation_layout={(f32[], f32[])->f32[]}

ENTRY e {
  a = f32[] parameter(0)
  dead = f32[] negate(a)
  b = f32[] parameter(1)
  late = f32[] constant(1)
  ROOT r = f32[] subtract(b, late)
}

)");
  std::string scheduled = Print(
      "HloModule m, is_scheduled=true\n" + text.substr(text.find("ENTRY")), TextFormat::kShort);
  EXPECT_LT(scheduled.find("late ="), scheduled.find("dead ="));
}

TEST(PrinterTest, PrintsSharedCalleesAfterTheSiblingThatCallsThem) {
  std::string text = R"(HloModule m
inner { a = f32[] parameter(0)
  ROOT n = f32[] negate(a) }
outer { a = f32[] parameter(0)
  ROOT c = f32[] call(a), to_apply=inner }
ENTRY e {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f32[] conditional(i, x, x), branch_computations={outer, inner}
}
)";
  std::string elided = Print(text, TextFormat::kElided);
  EXPECT_LT(elided.find("%outer ("), elided.find("%inner ("));
  std::string lossless = Print(text, TextFormat::kHlo);
  EXPECT_GT(lossless.find("%outer ("), lossless.find("%inner ("));
}

TEST(PrinterTest, GivesTheEntryLayoutTheDefaultOrderWhereTheModuleIsConfigured) {
  std::string body = "ENTRY e { ROOT a = f32[8,4]{0,1:T(8,128)} parameter(0) }\n";
  EXPECT_NE(Print("HloModule m\n" + body, TextFormat::kElided)
                .find("entry_computation_layout={(f32[8,4]{0,1:T(8,128)})->"),
            std::string::npos);
  EXPECT_NE(Print("HloModule m, replica_count=2\n" + body, TextFormat::kElided)
                .find("entry_computation_layout={(f32[8,4]{1,0:T(8,128)})->"),
            std::string::npos);
}

TEST(PrinterTest, PrintsAsynchronousInstructionsAsSugarAndSpreadsTheirThread) {
  std::string print = Print(R"(HloModule m
helper { a = f32[8] parameter(0)
  ROOT n = f32[8] negate(a) }
wrapped { a = f32[8] parameter(0)
  ROOT c = f32[8] call(a), to_apply=helper }
ENTRY e {
  x = f32[8] parameter(0)
  st = ((f32[8]), f32[8], s32[]) async-start(x), calls=wrapped, async_execution_thread="host", statistics={visualizing_index=0,a=1}
  ROOT dn = f32[8] async-done(st), calls=wrapped, async_execution_thread="host"
}
)",
                            TextFormat::kElided);
  EXPECT_EQ(
      LineOf(print, "%st"),
      "%st = ((f32[8]{0}), f32[8]{0}, s32[]) call-start(%x), async_execution_thread=\"host\", "
      "to_apply=%helper, statistics={visualizing_index=0,a=1}, "
      "statistics={visualizing_index=0,a=1}");
  EXPECT_EQ(LineOf(print, "%dn"), "%dn = f32[8]{0} call-done(%st)");
  EXPECT_NE(print.find("}, execution_thread=\"host\""), std::string::npos);
}

TEST(PrinterTest, RenumbersStackFramesByUse) {
  std::string print = Print(R"(HloModule m

FileNames
1 "unused.py"
2 "used.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=0 end_column=0}
2 {file_name_id=2 function_name_id=1 line=2 end_line=2 column=0 end_column=0}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}

ENTRY e {
  x = f32[] parameter(0), metadata={op_name="x" stack_frame_id=9}
  ROOT n = f32[] negate(x), metadata={stack_frame_id=2}
}
)",
                            TextFormat::kElided);
  EXPECT_EQ(print.find("unused.py"), std::string::npos);
  EXPECT_NE(print.find("1 {file_location_id=1 parent_frame_id=1}\n\n\n"), std::string::npos);
  EXPECT_EQ(LineOf(print, "%n"), "%n = f32[] negate(%x), metadata={stack_frame_id=1}");
  EXPECT_EQ(LineOf(print, "%x"), "%x = f32[] parameter(0), metadata={op_name=\"x\"}");
}

TEST(PrinterTest, PrintsCanonicalBodiesWhereTheyAreCalled) {
  EXPECT_EQ(Print(R"(HloModule m
neg { a = f32[] parameter(0)
  ROOT n = f32[] negate(a) }
ENTRY e {
  x = f32[] parameter(0)
  ROOT c = f32[] call(x), to_apply=neg, metadata={op_name="x"}
}
)",
                  TextFormat::kCanonical),
            R"(HloModule m, entry_computation_layout={(f32[])->f32[]}

neg {
  tmp_0 = f32[] parameter(0)
  ROOT tmp_1 = f32[] negate(f32[] tmp_0)
}

ENTRY e {
  tmp_0 = f32[] parameter(0)
  ROOT tmp_1 = f32[] call(f32[] tmp_0), to_apply=
  {
    tmp_0 = f32[] parameter(0)
    ROOT tmp_1 = f32[] negate(f32[] tmp_0)
  }
}

)");
}

// XLA prints the body of a reduce-scatter as `calls=`, which names no attribute of it.
TEST(PrinterTest, ReadsCanonicalBodiesThatXlaPrintsAsCalls) {
  const std::string canonical = Print(R"(HloModule m, replica_count=2
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[2] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add
}
)",
                                      TextFormat::kCanonical);
  EXPECT_NE(canonical.find("dimensions={0}, calls=\n  {"), std::string::npos) << canonical;
  const std::string read = Print(canonical, TextFormat::kHlo);
  EXPECT_NE(read.find("dimensions={0}, to_apply=%_\n"), std::string::npos) << read;
}

// Each computation calls the one before twice: 2^60 bodies, were they all printed.
TEST(PrinterTest, BoundsCanonicalBodies) {
  std::string text = "HloModule m\nc0 { ROOT a = f32[] parameter(0) }\n";
  for (int k = 1; k <= 60; ++k) {
    std::string before = "c" + std::to_string(k - 1);
    text.append("c").append(std::to_string(k));
    text.append(" { a = f32[] parameter(0)\n  b = f32[] call(a), to_apply=").append(before);
    text.append("\n  ROOT c = f32[] call(b), to_apply=").append(before).append(" }\n");
  }
  text += "ENTRY e { a = f32[] parameter(0)\n  ROOT c = f32[] call(a), to_apply=c60 }\n";
  EXPECT_LT(Print(text, TextFormat::kCanonical).size(), size_t{1} << 29);
}

TEST(PrinterTest, LosslessTextReadsBackAsItWas) {
  std::string text = R"(HloModule m, odd_header={1}
ENTRY e {
  x = f32[8] parameter(0), odd_attribute={a,b}
  c = f32[12] constant({0.1,2,3,4,5,6,7,8,9,10,11,3.14159274})
  e = f32[20] constant({...})
  st = ((f32[8]), f32[8], s32[]) negate-start(x), metadata={op_name="n"}, frontend_attributes={a="1"}
  dn = f32[8] negate-done(st)
  b = (f32[8], f32[8], f32[8]) batch-norm-training(dn, x, x), epsilon=0.12345678, feature_index=0
  ROOT t = (f32[8], f32[12], f32[20]) tuple(dn, c, e), statistics={visualizing_index=0,a=0.1234567890123}
}
)";
  std::string once = Print(text, TextFormat::kHlo);
  EXPECT_EQ(Print(once, TextFormat::kHlo), once);
  for (const char* kept : {"odd_header={1}", "odd_attribute={a,b}", "constant({...})", "3.14159",
                           "negate-start(%x)", "epsilon=0.12345678", "a=0.1234567890123"}) {
    EXPECT_NE(once.find(kept), std::string::npos) << kept << "\n" << once;
  }
}

// A name of a frontend attribute, statistic, thread or original instruction is a string of the
// module's author: printed, it must not end its attribute and begin an instruction.
TEST(PrinterTest, NamesThatAreNoIdentifiersAreQuoted) {
  const std::string name = R"("x={k=\"v\"}\n  s = f32[] sine(p), a={z")";
  const std::string text = R"(HloModule m

callee {
  q = f32[] parameter(0)
  ROOT r = f32[] negate(q)
}, execution_thread=)" + name +
                           R"(

ENTRY e {
  p = f32[] parameter(0), frontend_attributes={)" +
                           name + R"(="1",plain.name-2="2"}
  n = f32[] negate(p), statistics={visualizing_index=0,)" +
                           name + R"(=1}
  o = f32[] negate(n), origin={{)" +
                           name + R"( {}}}
  st = ((f32[]), f32[], s32[]) call-start(o), to_apply=callee, async_execution_thread=)" +
                           name + R"(
  ROOT d = f32[] call-done(st)
}
)";
  auto module = Read(text);
  ASSERT_NE(module, nullptr);
  for (const TextFormat format : {TextFormat::kHlo, TextFormat::kElided, TextFormat::kShort}) {
    const std::string printed = Print(text, format);
    EXPECT_EQ(printed.find("\n  s = "), std::string::npos) << printed;
    EXPECT_EQ(Print(printed, format), printed);
  }
  EXPECT_NE(Print(text, TextFormat::kHlo).find("plain.name-2=\"2\""), std::string::npos);
}

TEST(PrinterTest, AxisNamesAreEscaped) {
  const std::string text = R"(HloModule m

ENTRY e {
  ROOT p = f32[8] parameter(0), sharding={mesh['a\'b\\c\n'=2,'y'=4], [{'a\'b\\c\n'}]}
}
)";
  const std::string printed = Print(text, TextFormat::kHlo);
  EXPECT_NE(printed.find(R"(mesh['a\'b\\c\n'=2,'y'=4], [{'a\'b\\c\n'}])"), std::string::npos)
      << printed;
  EXPECT_EQ(Print(printed, TextFormat::kHlo), printed);
}

// As XLA's reader fills them: words that count on from leaf to leaf and from constant to constant.
TEST(PrinterTest, FillsElidedConstantsAsXla) {
  const std::string text = R"(HloModule m

ENTRY e {
  a = (f32[1], f32[2]) constant(({...}, {...}))
  b = f32[1] constant({...})
  c = f32[0] constant({...})
  d = f32[2,0] constant({...})
  ROOT t = ((f32[1], f32[2]), f32[1], f32[0], f32[2,0]) tuple(a, b, c, d)
}
)";
  const std::string print = Print(text, TextFormat::kShort);
  EXPECT_NE(print.find("constant(( {0}, {1.4013e-45, 2.8026e-45} ))"), std::string::npos) << print;
  EXPECT_NE(print.find("b = f32[1]{0} constant({4.2039e-45})"), std::string::npos) << print;
  EXPECT_NE(print.find("c = f32[0]{0} constant({})"), std::string::npos) << print;
  EXPECT_NE(print.find("d = f32[2,0]{1,0} constant({ {}, {} })"), std::string::npos) << print;
  EXPECT_NE(Print(text, TextFormat::kHlo).find("b = f32[1]{0} constant({...})"), std::string::npos);
}

TEST(PrinterTest, PrintsOneInstruction) {
  auto module = Read(Around("f32[8,8] add(x, y)"));
  ASSERT_NE(module, nullptr);
  std::string out;
  PrintText(*module, module->entry().root, TextFormat::kElided, out);
  EXPECT_EQ(out, "%r = f32[8,8]{1,0} add(%x, %y)");
}

}  // namespace
}  // namespace hloscope::hlo
