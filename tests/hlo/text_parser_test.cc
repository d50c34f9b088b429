// Reading HLO text: forms of every generation, errors with their places, hostile inputs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/work_count.h"
#include "core/hlo/text/log_prefix.h"
#include "core/hlo/text/name_uniquer.h"
#include "core/hlo/text/text.h"
#include "tests/base/paths.h"

namespace hloscope::hlo {
namespace {

std::shared_ptr<const Module> MustRead(const std::string& text) {
  ParseResult result = ParseText(text);
  for (const Diagnostic& d : result.diagnostics) {
    EXPECT_NE(d.severity, Severity::kError) << text << "\n" << d.message;
  }
  return result.module;
}

// "a=add(x,y) b=…" of every computation, the root with a star.
std::string Outline(const Module& m) {
  std::string out;
  for (const Computation& c : m.computations()) {
    out += (out.empty() ? "" : " ") + std::string(m[c.name]) + "{";
    for (uint32_t k = 0; k < c.instruction_count; ++k) {
      InstructionId id(c.first_instruction + k);
      out += (k == 0 ? "" : " ") + std::string(m.name(id)) + (id == c.root ? "*=" : "=");
      out += std::string(ToString(m[id].opcode)) + "(";
      for (InstructionId operand : m.operands(id)) {
        out += (out.back() == '(' ? "" : ",") + std::string(m.name(operand));
      }
      out += ")";
    }
    out += "}";
  }
  return out;
}

// Every diagnostic as "line:rule", warnings with a question mark.
std::string Problems(const std::string& text) {
  ParseResult result = ParseText(text);
  LineIndex lines(text);
  std::string out;
  for (const Diagnostic& d : result.diagnostics) {
    EXPECT_LE(d.offset, text.size()) << text;
    out += (out.empty() ? "" : " ") + std::to_string(lines.PlaceOf(d.offset, "").line) + ":" +
           d.rule + (d.severity == Severity::kWarning ? "?" : "");
  }
  bool error = out.find('?') == std::string::npos ? !out.empty() : out.find(' ') != out.npos;
  if (!error) {
    EXPECT_NE(result.module, nullptr) << text;
  }
  return out;
}

struct Case {
  const char* text;
  const char* expected;
};

TEST(TextParser, ReadsTheFormsOfEveryGeneration) {
  const Case cases[] = {
      {"HloModule m\nENTRY e {\n  ROOT c = f32[] constant(1)\n}", "e{c*=constant()}"},
      // No header, no ENTRY, no ROOT; the last of each is meant.
      {"e {\n a = f32[] constant(1)\n b = f32[] negate(a)\n}", "e{a=constant() b*=negate(a)}"},
      // A head without ENTRY or HloModule before it.
      {"%f (p: f32[2]) -> f32[2] {\n %p = f32[2]{0} parameter(0)\n}", "f{p*=parameter()}"},
      // Operand shapes, comments, and a root that is not last.
      {"HloModule m\nENTRY %e (a.1: f32[2]) -> f32[2] {\n  %a.1 = f32[2]{0} parameter(0)\n"
       "  ROOT %r = f32[2]{0} add(f32[2]{0} %a.1, /*index=1*/f32[2] %a.1) // twice\n"
       "  %n = f32[2]{0} negate(%a.1)\n}, execution_thread=\"host\"",
       "e{a.1=parameter() r*=add(a.1,a.1) n=negate(a.1)}"},
      // Nested operands, with and without shapes.
      {"e {\n a = f32[2] parameter(0)\n r = add(negate(a), add(f32[2] negate(a), a))\n}",
       "e{a=parameter() negate.anon=negate(a) negate.anon.1=negate(a) "
       "add.anon=add(negate.anon.1,a) r*=add(negate.anon,add.anon)}"},
      // Elements of tuples as operands; one instruction for one element.
      {"e {\n t = (f32[2], (f32[3], f32[4])) parameter(0)\n"
       " r = (f32[2], f32[4], f32[4]) tuple(%t#0, f32[4] t#1#1, t#1#1)\n}",
       "e{t=parameter() t_0=get-tuple-element(t) t_1=get-tuple-element(t) "
       "t_1_1=get-tuple-element(t_1) r*=tuple(t_0,t_1_1,t_1_1)}"},
      // A computation written in place.
      {"e {\n p = f32[4] parameter(0)\n z = f32[] constant(0)\n"
       " s = f32[] reduce(p, z), dimensions={0}, to_apply={\n  p = f32[] parameter(0)\n"
       "  y = f32[] parameter(1)\n  ROOT a = add(p, y)\n }\n n = f32[4] negate(p)\n}",
       "_{p=parameter() y=parameter() a*=add(p,y)} "
       "e{p.1=parameter() z=constant() s=reduce(p.1,z) n*=negate(p.1)}"},
      // Single instructions.
      {"f32[2] add(f32[2] a, f32[2])", "_{a=parameter() _1=parameter() _*=add(a,_1)}"},
      {"%x = f32[2] add(f32[2] %a, f32[2] %a)", "_{a=parameter() x*=add(a,a)}"},
      {"ROOT x = (f32[2]) tuple(f32[2] a)", "_{a=parameter() x*=tuple(a)}"},
      // Asynchronous operations, spelt short, and bound late.
      {"e {\n p = f32[2] parameter(0)\n s = ((f32[2]), f32[2], s32[]) negate-start(p)\n"
       " u = ((f32[2]), f32[2], s32[]) negate-update(s)\n d = f32[2] negate-done(u)\n}",
       "async_wrapped{async_param=parameter() negate*=negate(async_param)} "
       "e{p=parameter() s=async-start(p) u=async-update(s) d*=async-done(u)}"},
      {"f {\n a = f32[2] parameter(0)\n b = f32[2] parameter(1)\n c = f32[2] add(a, b)\n}\n"
       "ENTRY e {\n p = f32[2] parameter(0)\n s = ((), (), s32[]) async-start(), calls=f\n"
       " u = ((f32[2], f32[2]), f32[2], s32[]) async-update(s, p, p)\n"
       " d = f32[2] async-done(u), calls=f\n}",
       "f{a=parameter() b=parameter() c*=add(a,b)} "
       "e{p=parameter() s=async-start() u=async-update(s,p,p) d*=async-done(u)}"},
      // The wrapped instruction has a name of the module too.
      {"e {\n negate = f32[2] parameter(0)\n s = ((f32[2]), f32[2], s32[]) negate-start(negate)\n"
       " d = f32[2] negate-done(s)\n}",
       "async_wrapped{async_param=parameter() negate*=negate(async_param)} "
       "e{negate.1=parameter() s=async-start(negate.1) d*=async-done(s)}"},
      // The start is elsewhere; one computation serves two starts.
      {"f {\n a = f32[2] parameter(0)\n b = f32[2] negate(a)\n}\n"
       "g {\n p = ((f32[2]), f32[2], s32[]) parameter(0)\n c = ((f32[2]), f32[2], s32[]) copy(p)\n"
       " d = f32[2] negate-done(c)\n}\n"
       "ENTRY e {\n p = f32[2] parameter(0)\n"
       " s = ((f32[2]), f32[2], s32[]) async-start(p), calls=f\n"
       " r = ((f32[2]), f32[2], s32[]) async-start(p), calls=f\n"
       " x = f32[2] call(s), to_apply=g\n t = (((f32[2]), f32[2], s32[])) tuple(r)\n"
       " y = f32[2] async-done(t#0)\n z = f32[2] add(x, y)\n}",
       "f{a=parameter() b*=negate(a)} "
       "g{p=parameter() c=copy(p) d*=async-done(c)} "
       "e{p.1=parameter() s=async-start(p.1) r=async-start(p.1) x=call(s) t=tuple(r) "
       "t_0=get-tuple-element(t) y=async-done(t_0) z*=add(x,y)}"},
      // A byte order mark.
      {"\xef\xbb\xbfHloModule m\ne {\n a = f32[] constant(1)\n}", "e{a*=constant()}"},
      // Log prefixes and line ends of another system.
      {"I0521 12:04:45.883483    1509 service.cc:186] HloModule m\r\n"
       "I0521 12:04:45.883483    1509 service.cc:186] e {\r\n"
       "I0521 12:04:45.883484    1509 service.cc:186]  a = f32[] constant(1) // one\r\n"
       "I0521 12:04:45.883484    1509 service.cc:186] }\r\n",
       "e{a*=constant()}"},
  };
  for (const Case& c : cases) {
    auto module = MustRead(c.text);
    ASSERT_NE(module, nullptr) << c.text;
    EXPECT_EQ(Outline(*module), c.expected) << c.text;
    EXPECT_TRUE(LooksLikeHloText(c.text)) << c.text;
  }
}

TEST(TextParser, MakesNamesUniqueAsXlaDoes) {
  auto module = MustRead(
      "a {\n p0 = f32[2] parameter(0)\n x.0 = f32[2] negate(p0)\n x = f32[2] negate(x.0)\n"
      " x.007 = f32[2] negate(x)\n ROOT p.1 = f32[2] negate(x.007)\n}\n"
      "b {\n p0 = f32[2] parameter(0)\n p.1 = f32[2] negate(p0)\n}");
  EXPECT_EQ(Outline(*module),
            "a{p0=parameter() x.0=negate(p0) x.1=negate(x.0) x.7=negate(x.1) p.1*=negate(x.7)} "
            "b{p0.1=parameter() p.0*=negate(p0.1)}");
  // Without a clash nothing is renamed.
  EXPECT_EQ(Outline(*MustRead("a {\n x.0 = f32[] constant(1)\n x.1 = f32[] negate(x.0)\n}")),
            "a{x.0=constant() x.1*=negate(x.0)}");
  EXPECT_EQ(SanitizedName("f32"), "f32_");
  EXPECT_EQ(SanitizedName("__x"), "a_x");
  EXPECT_EQ(SanitizedName("__xla_x"), "__xla_x");
}

TEST(TextParser, ReadsHeaderAndTables) {
  auto module = MustRead(
      "HloModule m, is_scheduled=true, replica_count=2, num_partitions=4,\n"
      "  input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {0}) },\n"
      "  buffer_donor={ (1, {1}) }, alias_passthrough_params=true,\n"
      "  entry_computation_layout={(f32[2]{0}, (f32[2], f32[]))->(f32[2], f32[2]{0})},\n"
      "  allow_spmd_sharding_propagation_to_parameters={true,false},\n"
      "  allow_spmd_sharding_propagation_to_output=true, "
      "frontend_attributes={b=\"1\",a={\"k\":1}},\n"
      "  debug_attributes={{\"x\"}:({log_mode=default})}, from_the_future={1,{2}}\n\n"
      "FileNames\n1 \"a.py\"\n2 \"b.py\"\nFunctionNames\n1 \"f\"\nFileLocations\n"
      "1 {file_name_id=2 function_name_id=1 line=3 end_line=4 column=5 end_column=6}\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
      "ENTRY e {\n  a = f32[2] parameter(0)\n  b = (f32[2], f32[]) parameter(1)\n"
      "  g = f32[2] get-tuple-element(b), index=0\n  ROOT t = (f32[2], f32[2]) tuple(a, g)\n}");
  ASSERT_NE(module, nullptr);
  const ModuleHeader& h = module->header();
  EXPECT_TRUE(h.is_scheduled && h.alias_passthrough_params);
  EXPECT_EQ(h.replica_count, 2);
  EXPECT_EQ(h.num_partitions, 4);
  ASSERT_EQ(h.input_output_alias.size(), 2u);
  EXPECT_TRUE(h.input_output_alias[0].must_alias);
  EXPECT_EQ(h.input_output_alias[1].parameter_index, std::vector<int64_t>{0});
  ASSERT_EQ(h.buffer_donors.size(), 1u);
  ASSERT_TRUE(h.entry_layout);
  EXPECT_EQ(ToString((*module)[h.entry_layout->result]), "(f32[2]{0}, f32[2]{0})");
  EXPECT_EQ(h.allow_spmd_sharding_propagation_to_parameters, (std::vector<bool>{true, false}));
  ASSERT_EQ(h.frontend_attributes.entries.size(), 2u);
  EXPECT_TRUE(h.frontend_attributes.entries[0].json);
  ASSERT_EQ(h.unknown.size(), 1u);
  EXPECT_EQ((*module)[h.unknown[0].text], "{1,{2}}");
  ASSERT_EQ(h.stack_frames.file_names.size(), 2u);
  EXPECT_EQ(h.stack_frames.locations[0].end_column, 6);
  EXPECT_EQ(h.stack_frames.frames[0].parent_frame_id, 0);
}

TEST(TextParser, KeepsAttributeValues) {
  auto module = MustRead(
      "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = add(a, b)\n}\n"
      "ENTRY e {\n"
      " x = f32[1,8,8,4] parameter(0), sharding={replicated}, parameter_replication={true}\n"
      " k = f32[3,3,4,4] parameter(1)\n"
      " c = f32[1,4,4,4] convolution(x, k), window={size=3x3 stride=2x2 pad=0_1x-1_1}, "
      "dim_labels=b01f_01io->b01f, operand_precision={HIGH,highest}, feature_group_count=1\n"
      " z = f32[] constant(-1.5)\n"
      " p = f32[1,4,6,7] pad(c, z), padding=0_0x0_0x0_2x1_0_1, control-predecessors={x, k}\n"
      " r = f32[1] reduce(p, z), dimensions={1,2,3}, to_apply=add, "
      "metadata={op_name=\"a\\\"b\" source_line=7, stack_frame_id=2 color=\"red\"}\n"
      " l = f32[1] slice(r), slice={[0:1]}, backend_config={\"a\":{\"b\":\"}\"}}\n"
      " q = f32[1] custom-call(l), custom_call_target=\"t\", frontend_attributes={k=\"v\"}, "
      "backend_config=\"raw\\n\", novel=[2,4]<=[8]T(1,0)\n"
      " ROOT t = f32[1] tanh(q), result_accuracy={tolerance={atol=1e-3,rtol=0,ulps=2}}, "
      "origin={{\"t\"}}\n}");
  ASSERT_NE(module, nullptr);
  const Module& m = *module;
  using enum AttributeKey;
  auto find = [&](std::string_view name) -> const Instruction& {
    for (const Instruction& i : m.instructions()) {
      if (m[i.name] == name) return i;
    }
    ADD_FAILURE() << name;
    return m.instructions()[0];
  };
  auto ints = [&](std::string_view name, AttributeKey key) {
    std::span<const int64_t> v = m.GetInts(find(name), key);
    return std::vector<int64_t>(v.begin(), v.end());
  };
  const Window* window = m.Get<Window>(find("c"), kWindow);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(window->dimensions[1].padding_low, -1);
  EXPECT_EQ(window->dimensions[0].stride, 2);
  EXPECT_EQ(m.Get<ConvolutionDims>(find("c"), kDimLabels)->kernel_output_feature, 3);
  EXPECT_EQ(ints("c", kOperandPrecision), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(ints("p", kPadding), (std::vector<int64_t>{0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 1}));
  EXPECT_EQ(m.IdsOf(*m.Find(find("p"), kControlPredecessors))[1], 4u);
  const OpMetadata* metadata = m.Get<OpMetadata>(find("r"), kMetadata);
  ASSERT_NE(metadata, nullptr);
  EXPECT_EQ(m[metadata->op_name], "a\"b");
  EXPECT_EQ(metadata->source_line, 7);
  EXPECT_EQ(metadata->stack_frame_id, 2);
  EXPECT_EQ(m[metadata->unknown], "color=\"red\"");
  EXPECT_EQ(ints("l", kSlice), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(m[m.Get<BackendConfig>(find("l"), kBackendConfig)->text], "{\"a\":{\"b\":\"}\"}}");
  EXPECT_EQ(m[m.Get<BackendConfig>(find("q"), kBackendConfig)->text], "raw\n");
  const RawAttribute* raw = m.Get<RawAttribute>(find("q"), kUnknown);
  ASSERT_NE(raw, nullptr);
  EXPECT_EQ(m[raw->text], "[2,4]<=[8]T(1,0)");
  EXPECT_FALSE(raw->misplaced);
  EXPECT_EQ(m.Get<ResultAccuracy>(find("t"), kResultAccuracy)->ulps, 2);
  EXPECT_EQ(m.Get<OriginalValue>(find("t"), kOrigin)->root.array->instruction, "t");
  EXPECT_EQ(m.Get<Literal>(find("z"), kConstantValue)->data<float>()[0], -1.5f);
}

TEST(TextParser, SaysWhatIsWrongAndWhere) {
  const Case cases[] = {
      {"", "1:syntax"},
      {"HloModule m", "1:syntax"},
      {"HloModule\nENTRY e {\n a = f32[] constant(1)\n}", "2:syntax"},
      {"HloModule m\ne {\n}", "2:syntax"},
      {"HloModule m\ne {\n a = f32[] constant(1)\n", "4:syntax"},
      {"e {\n a = f32[] constant(1) /* no end\n}", "2:syntax"},
      {"e {\n a = f32[] negate(b)\n}", "2:undefined-operand"},
      {"e {\n a = f32[] constant(1)\n a = f32[] constant(2)\n}", "3:duplicate-name"},
      {"e {\n ROOT a = f32[] constant(1)\n ROOT b = f32[] constant(2)\n}", "3:root"},
      {"ENTRY e {\n a = f32[] constant(1)\n}\nENTRY f {\n a = f32[] constant(1)\n}", "4:entry"},
      {"e {\n a = f32[] constant(1)\n}\ne {\n a = f32[] constant(1)\n}", "4:duplicate-name"},
      {"e {\n a = f32[] parameter(1)\n}", "2:parameter-number"},
      {"e {\n a = f32[] parameter(0)\n b = f32[] parameter(0)\n}", "3:parameter-number"},
      {"e {\n a = f32[] parameter(-1)\n}", "2:parameter-number"},
      {"e {\n a = f32[] parameter(99999999999)\n}", "2:parameter-number"},
      {"e {\n a = f32[] constant(1)\n b = f32[] add(a)\n}", "3:operand-count"},
      {"e {\n a = f32[] constant(1)\n b = (f32[], f32[]) tuple(a)\n}", "3:operand-count"},
      {"e {\n a = f32[2] parameter(0)\n b = f32[2] transpose(a)\n}", "3:missing-attribute"},
      {"e {\n a = f32[2] parameter(0)\n b = f32[2] transpose(a), dimensions={0}, dimensions={0}\n}",
       "3:duplicate-attribute"},
      {"e {\n a = f32[2] parameter(0)\n b = f32[2] negate(a), slice={[0:1]}\n}",
       "3:misplaced-attribute?"},
      {"e {\n a = f32[2] parameter(0)\n b = f32[2] negate(a), novel=1\n}", "3:unknown-attribute?"},
      {"e {\n a = f32[2] parameter(0), metadata={novel=1}\n}", "2:unknown-attribute?"},
      {"e {\n a = f32[2]{0:T(0)} parameter(0)\n}", "2:layout"},
      {"e {\n a = f32[2] parameter(0)\n b = bitcast(a)\n}", "3:shape"},
      {"e {\n a = f32[2] parameter(0)\n b = f32[3] parameter(1)\n c = add(a, b)\n}",
       "4:shape-inference"},
      {"e {\n a = f32[2] parameter(0)\n c = f32[2] negate(f32[3] a)\n}", "3:operand-shape"},
      {"e {\n a = f32[2] parameter(0)\n c = f32[2] negate(a#0)\n}", "3:operand-shape"},
      {"%e (a: f32[2]) -> f32[3] {\n a = f32[2] parameter(0)\n}", "1:signature"},
      {"e {\n a = f32[2] call(), to_apply=e\n}", "2:undefined-computation"},
      {"e {\n a = f32[2] call(), to_apply=f\n}\nf {\n b = f32[2] parameter(0)\n}",
       "2:undefined-computation"},
      {"e {\n a = f32[2] negate-start(a)\n}", "2:undefined-operand"},
      {"e {\n f32 = f32[] constant(1)\n}", "2:name"},
      {"e {\n true = f32[] constant(1)\n}", "2:syntax"},
      {"e {\n a = f32[] frobnicate(1)\n}", "2:unknown-opcode"},
      {"f32[2] add(a, b)", "1:undefined-operand"},
      {"e {\n t = (f32[2]) parameter(0)\n t_0 = f32[2] get-tuple-element(t), index=0\n"
       " n = f32[2] negate(t#0)\n}",
       "4:duplicate-name"},
      // One start has one done chain, of its own opcode.
      {"e {\n p = f32[2] parameter(0)\n s = ((f32[2]), f32[2], s32[]) negate-start(p)\n"
       " d = f32[2] sine-done(s)\n}",
       "4:async"},
      {"e {\n p = f32[2] parameter(0)\n d = f32[2] async-done(p)\n}", "3:async"},
      {"e {\n p = f32[2] parameter(0)\n s = (f32[2], f32[2], s32[]) negate-start(p)\n}", "3:async"},
  };
  for (const Case& c : cases) EXPECT_EQ(Problems(c.text), c.expected) << c.text;
}

TEST(TextParser, GoesOnAfterErrorsWithoutCascades) {
  EXPECT_EQ(Problems("HloModule m\n"
                     "f {\n"
                     "  a = f32[2] parameter(0)\n"
                     "  b = f32[2] nagate(a)\n"  // 4
                     "  c = f32[2] add(a, b)\n"  // b is known to be unknown
                     "  d = add(c, b)\n"
                     "  e = f32[2] add(a, missing)\n"  // 7
                     "  ROOT g = f32[2] negate(e),\n"
                     "    metadata={op_name=7}\n"  // 9
                     "  h = f32[2] negate(a)\n"
                     "}\n"
                     "\n"
                     "ENTRY m {\n"
                     "  a = f32[2] parameter(0)\n"
                     "  b = f32[2] call(a), to_apply=f\n"       // f has errors of its own
                     "  c = f32[2] slice(b), slice={[0:2}\n"    // 16
                     "  ROOT d = f32[2] call(c), to_apply=g\n"  // 17
                     "}\n"),
            "4:unknown-opcode 7:undefined-operand 9:syntax 16:syntax 17:undefined-computation");
  std::string many = "e {\n";
  for (int i = 0; i < 100; ++i) many += " a" + std::to_string(i) + " = f32[] wrong()\n";
  EXPECT_EQ(ParseText(many + "}").diagnostics.size(), 20u);
  Limits limits;
  limits.diagnostics = 3;
  EXPECT_EQ(ParseText(many + "}", limits).diagnostics.size(), 3u);
}

TEST(TextParser, NamesWhatWasMeant) {
  auto hint = [](const std::string& text) {
    ParseResult result = ParseText(text);
    return result.diagnostics.empty() ? "" : result.diagnostics[0].hint;
  };
  EXPECT_EQ(hint("e {\n weight.1 = f32[] parameter(0)\n b = f32[] negate(wieght.1)\n}"),
            "did you mean `%weight.1`?");
  EXPECT_EQ(hint("e {\n a = f32[] parameter(0)\n b = f32[] negate(late)\n late = f32[] copy(a)\n}"),
            "it is defined later, on line 4");
  EXPECT_EQ(hint("e {\n a = f32[] mutliply(a, a)\n}"), "did you mean `multiply`?");
  EXPECT_EQ(hint("e {\n a = f32[2] parameter(0)\n b = f32[2] transpose(a), dimension={0}\n}"),
            "it takes dimensions");
  EXPECT_EQ(hint("e {\n a = f32[2] parameter(0), metdata={}\n}"), "did you mean `metadata`?");
  EXPECT_EQ(hint("HloModule m, is_sheduled=true\ne {\n a = f32[2] parameter(0)\n}"),
            "did you mean `is_scheduled`?");
}

TEST(TextParser, KnowsWhatIsNotHlo) {
  for (const char* text : {"", "{\"a\": 1}", "module @m {\n}", "func.func @f() {", "hello world",
                           "int main() { return 0; }", "a = b", "#!/usr/bin/python\nx = f(1)"}) {
    EXPECT_FALSE(LooksLikeHloText(text)) << text;
  }
  EXPECT_EQ(LogPrefixLength("I0521 12:04:45.883483    1509 service.cc:186] x"), 45u);
  EXPECT_EQ(LogPrefixLength("ENTRY e {"), 0u);
}

std::string Repeat(const std::string& piece, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += piece;
  return out;
}

// Texts of about `bytes` bytes of one thing each.
std::vector<std::string> HostileTexts(size_t bytes) {
  const std::string head = "HloModule m\ne {\n a = f32[] constant(1)\n";
  return {
      Repeat("(", bytes),
      Repeat("{", bytes),
      Repeat("'", bytes),
      Repeat("\"\\", bytes),
      Repeat("/*", bytes),
      Repeat("%a#0", bytes),
      "HloModule m, " + Repeat("x=1, ", bytes),
      "HloModule m, entry_computation_layout={" + Repeat("(", bytes),
      head + " b = f32[] negate(" + Repeat("negate(", bytes),
      head + " b = f32[] add(" + Repeat("a, ", bytes),
      head + " b = f32[] negate(a)" + Repeat(", x=1", bytes) + "\n}",
      head + " b = f32[] negate(a), x=" + Repeat("{'", bytes),
      head + " b = f32[] negate(a), metadata={" + Repeat("op_name=\"\\\"", bytes),
      head + " b = f32[] negate(a), backend_config=" + Repeat("{\"a\":", bytes),
      head + " b = f32[] call(), to_apply=" + Repeat("{ a = f32[] call(), to_apply=", bytes),
      head + " b = f32[] call(a), to_apply={" + Repeat("\n", bytes),
      head + " b = f32[99999999999999] constant({" + Repeat("{", bytes),
      head + " b = " + Repeat("(f32[], ", bytes),
      head + " b = f32[] negate(a), control-predecessors={" + Repeat("a,", bytes),
      head + " b = f32[] negate(a), origin={" + Repeat("(", bytes),
      head + Repeat(" b = f32[] negate(b)\n", bytes) + "}",
      head + Repeat(" b = f32[] oops(\n", bytes) + "}",
      head + " t = " + Repeat("x", bytes) + "\n}",
      "e {" + Repeat(" p = f32[] parameter(9999999999)\n", bytes) + "}",
      Repeat("I0521 12:04:45.8 1 s.cc:1] ", bytes),
      std::string(bytes, '\0'),
  };
}

// Twice the text is twice the work: nothing here is quadratic or allocates by a number.
TEST(TextParser, AnswersHostileTextsInLinearWork) {
  constexpr size_t kMega = 1 << 20;
  const std::vector<std::string> half = HostileTexts(kMega / 2), whole = HostileTexts(kMega);
  const auto work_of = [](const std::string& text) {
    const uint64_t before = WorkCount();
    const ParseResult result = ParseText(text);
    LooksLikeHloText(text);
    EXPECT_EQ(result.module, nullptr) << text.substr(0, 80);
    return WorkCount() - before;
  };
  for (size_t k = 0; k < whole.size(); ++k) {
    work_of(half[k]);  // tables that are made once
    const uint64_t of_half = work_of(half[k]), of_whole = work_of(whole[k]);
    EXPECT_LT(of_whole, of_half * 5 / 2 + 5000) << whole[k].substr(0, 80);
  }
}

TEST(TextParser, DeepNestingHasALimit) {
  auto nested = [](int depth) {
    std::string text = "e {\n a = f32[] constant(1)\n b = f32[] ";
    for (int i = 0; i < depth; ++i) text += "negate(";
    return text + "a" + std::string(static_cast<size_t>(depth), ')') + "\n}";
  };
  EXPECT_NE(ParseText(nested(500)).module, nullptr);
  EXPECT_EQ(Problems(nested(600)), "3:nesting");
  Limits limits;
  limits.nesting = 4096;
  EXPECT_NE(ParseText(nested(4000), limits).module, nullptr);
  limits.instructions = 2;
  EXPECT_EQ(ParseText(nested(2), limits).module, nullptr);
}

std::filesystem::path Corpus() {
  if (const char* path = std::getenv("HLOSCOPE_CORPUS")) return path;
  return SourcePath("../shared/corpus");
}

TEST(TextParser, ReadsWhatXlaAccepts) {
  std::filesystem::path suite = Corpus() / "xla-suite";
  if (!std::filesystem::exists(suite / "index.json")) GTEST_SKIP() << "corpus not present";
  auto read = [](const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  size_t count = 0;
  for (const auto& entry : nlohmann::json::parse(read(suite / "index.json"))) {
    bool accept = entry["label"] == "accept";
    if (!accept && entry["label"] != "reject_expected") continue;
    if (!accept && entry["expect"] != "parse_fail") continue;
    std::string name = entry["name"];
    std::string text = read(suite / "modules" / (name + ".hlo"));
    ParseResult result = ParseText(text);
    ++count;
    EXPECT_EQ(result.ok(), accept) << name;
    if (accept) {
      EXPECT_TRUE(LooksLikeHloText(text)) << name;
    }
  }
  EXPECT_GT(count, 1000u);
}

}  // namespace
}  // namespace hloscope::hlo
