// Tests of running modules on a real plugin beside the interpreter; skipped where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/backends/plugins/plugins.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/text/text.h"

namespace hloscope::debug {
namespace {

std::string PluginPath() {
  const auto plugin = replay::ResolvePlugin("xla-cpu", {});
  return plugin.has_value() ? plugin->path : "";
}

RunReport RunBeside(const std::string& text, RunSpec request = {}) {
  const auto parsed = hlo::ParseText("HloModule m" + text);
  for (const hlo::Diagnostic& d : parsed.diagnostics) ADD_FAILURE() << d.message << "\n" << text;
  if (request.test.name == "interpreter") request.test.name = "xla-cpu";
  request.reference.name = "interpreter";
  request.inputs.seed = 3;
  request.budget.seconds = 600;  // XLA compiles slowly beside sanitizers
  return RunModule(parsed.module, request);
}

TEST(XlaCpu, AgreesWithTheInterpreter) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const std::pair<const char*, const char*> rows[] = {
      {"one array", "\nENTRY e {\n a = f32[4,3] parameter(0)\n ROOT r = f32[4,3] tanh(a)\n}\n"},
      {"no result", "\nENTRY e {\n a = f32[4] parameter(0)\n ROOT r = () tuple()\n}\n"},
      {"nothing to do", "\nENTRY e {\n ROOT a = f32[4] parameter(0)\n}\n"},
      {"nested tuples in and out",
       "\nENTRY e {\n a = (f32[2], (s8[3], pred[])) parameter(0)\n b = (s8[3], pred[]) "
       "get-tuple-element(a), index=1\n ROOT r = ((s8[3], pred[]), (f32[2], (s8[3], pred[]))) "
       "tuple(b, a)\n}\n"},
      {"narrow types",
       "\nENTRY e {\n a = s4[5] parameter(0)\n b = u4[5] parameter(1)\n c = s4[5] negate(a)\n ROOT "
       "r = (s4[5], u4[5]) tuple(c, b)\n}\n"},
      {"layouts",
       "\nENTRY e {\n a = f32[2,3]{0,1} parameter(0)\n b = f32[3,2]{1,0} bitcast(a)\n ROOT r = "
       "f32[3,2]{0,1} add(b, b)\n}\n"},
      {"a dynamic array",
       "\nENTRY e {\n a = f32[<=6] parameter(0)\n ROOT r = f32[<=6] add(a, a)\n}\n"},
      {"a token",
       "\nENTRY e {\n a = f32[2] parameter(0)\n t = token[] after-all()\n ROOT r = (token[], "
       "f32[2]) "
       "tuple(t, a)\n}\n"},
      {"an asynchronous pair",
       "\nw {\n p = f32[4] parameter(0)\n ROOT q = f32[4] cosine(p)\n}\nENTRY e {\n a = f32[4] "
       "parameter(0)\n s = ((f32[4]), f32[4], u32[]) async-start(a), calls=w\n ROOT d = f32[4] "
       "async-done(s)\n}\n"},
      {"asynchronous pairs in a call and in a loop",
       "\nw {\n p = f32[4] parameter(0)\n ROOT q = f32[4] cosine(p)\n}\nbegins {\n p = f32[4] "
       "parameter(0)\n ROOT s = ((f32[4]), f32[4], u32[]) async-start(p), calls=w\n}\nends {\n s = "
       "((f32[4]), f32[4], u32[]) parameter(0)\n u = ((f32[4]), f32[4], u32[]) async-update(s)\n "
       "ROOT d = f32[4] async-done(u)\n}\nbody {\n t = (((f32[4]), f32[4], u32[]), s32[]) "
       "parameter(0)\n s = ((f32[4]), f32[4], u32[]) get-tuple-element(t), index=0\n i = s32[] "
       "get-tuple-element(t), index=1\n o = s32[] constant(1)\n j = s32[] add(i, o)\n d = f32[4] "
       "async-done(s)\n n = ((f32[4]), f32[4], u32[]) async-start(d), calls=w\n ROOT r = "
       "(((f32[4]), f32[4], u32[]), s32[]) tuple(n, j)\n}\ncond {\n t = (((f32[4]), f32[4], "
       "u32[]), "
       "s32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=1\n m = s32[] constant(3)\n "
       "ROOT c = pred[] compare(i, m), direction=LT\n}\nENTRY e {\n a = f32[4] parameter(0)\n s = "
       "((f32[4]), f32[4], u32[]) call(a), to_apply=begins\n z = s32[] constant(0)\n t = "
       "(((f32[4]), f32[4], u32[]), s32[]) tuple(s, z)\n l = (((f32[4]), f32[4], u32[]), s32[]) "
       "while(t), condition=cond, body=body\n g = ((f32[4]), f32[4], u32[]) get-tuple-element(l), "
       "index=0\n ROOT d = f32[4] call(g), to_apply=ends\n}\n"},
      {"a schedule and a fusion",
       ", is_scheduled=true\nf {\n p = f32[4] parameter(0)\n ROOT q = f32[4] add(p, p)\n}\nENTRY e "
       "{\n a = f32[4] parameter(0)\n ROOT r = f32[4] fusion(a), kind=kLoop, calls=f, "
       "backend_config={\"fusion_backend_config\":{\"kind\":\"__triton\"}}\n}\n"},
      {"an alias",
       ", input_output_alias={ {}: (0, {}, must-alias) }\nENTRY e {\n a = f32[4] parameter(0)\n "
       "ROOT "
       "r = f32[4] add(a, a)\n}\n"},
      {"a library call of another back end",
       "\nENTRY e {\n a = f32[4,6] parameter(0)\n b = f32[6,5] parameter(1)\n ROOT r = f32[4,5] "
       "custom-call(a, b), custom_call_target=\"__cublas$gemm\", "
       "backend_config={\"gemm_backend_config\":{\"alpha_real\":1,\"beta\":0,"
       "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],"
       "\"rhs_contracting_dimensions\":[\"0\"]},\"alpha_imag\":0,\"epilogue\":\"DEFAULT\"}}\n}\n"},
      {"replicas",
       ", replica_count=4\ns {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] "
       "add(x, y)\n}\nENTRY e {\n a = f32[4] parameter(0)\n ROOT r = f32[4] all-reduce(a), "
       "replica_groups={{0,2},{1,3}}, to_apply=s\n}\n"},
      {"partitions whose values are their own",
       ", num_partitions=2, frontend_attributes={hloscope.own_values=\"true\"}\nENTRY e {\n a = "
       "f32[4] parameter(0)\n i = u32[] partition-id()\n c = f32[] convert(i)\n b = f32[4] "
       "broadcast(c), dimensions={}\n s = f32[4] add(a, b)\n ROOT r = f32[8] all-gather(s), "
       "channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true\n}\n"},
      {"partitions",
       ", num_partitions=2, is_scheduled=true\nENTRY e {\n a = f32[4] parameter(0)\n i = u32[] "
       "partition-id()\n c = f32[] convert(i)\n b = f32[4] broadcast(c), dimensions={}\n s = "
       "f32[4] "
       "add(a, b)\n ROOT r = f32[8] all-gather(s), channel_id=1, replica_groups={{0,1}}, "
       "dimensions={0}, use_global_device_ids=true\n}\n"},
      {"a module to partition",
       ", num_partitions=2\nENTRY e {\n a = f32[8,2] parameter(0), sharding={devices=[2,1]<=[2]}\n "
       "b "
       "= f32[8,2] cosine(a)\n ROOT r = f32[8,2] add(a, b), sharding={devices=[1,2]<=[2]}\n}\n"},
  };
  for (const auto& [name, text] : rows) {
    SCOPED_TRACE(name);
    const RunReport report = RunBeside(text);
    EXPECT_TRUE(report.status == RunStatus::kEqual || report.outputs.empty())
        << ToString(report.status);
    EXPECT_FALSE(report.error.has_value()) << report.error->ToString();
  }
}

// XLA:CPU dies on results that share memory, where no pass has copied them.
TEST(XlaCpu, WithoutPassesResultsHaveMemoryOfTheirOwn) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const char* const rows[] = {
      "\nENTRY e {\n ROOT c = s32[] constant(3)\n}\n",
      "\nENTRY e {\n p = s32[3] parameter(0)\n c = s32[] constant(3)\n ROOT t = (s32[3], s32[]) "
      "tuple(p, c)\n}\n",
      "\nENTRY e {\n p = s32[3] parameter(0)\n n = s32[3] negate(p)\n u = (s32[3], s32[3]) "
      "tuple(n, p)\n ROOT t = (s32[3], (s32[3], s32[3]), s32[3]) tuple(n, u, p)\n}\n",
  };
  for (const char* text : rows) {
    RunSpec request;
    request.test.run_passes = false;
    const RunReport report = RunBeside(text, request);
    EXPECT_EQ(report.status, RunStatus::kEqual) << text;
    EXPECT_FALSE(report.error.has_value()) << report.error->ToString();
  }
}

// Where no pass runs, arrays lie in memory as the module says, but a plugin's are row-major.
TEST(XlaCpu, WithoutPassesLayoutsAreKept) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const char* const rows[] = {
      "\nENTRY e {\n p = f32[2,3]{1,0} parameter(0)\n ROOT r = f32[2,3]{0,1} copy(p)\n}\n",
      "\nENTRY e {\n p = f32[2,3]{0,1} parameter(0)\n ROOT r = f32[2,3]{1,0} copy(p)\n}\n",
      "\nENTRY e {\n p = f32[2,3,4]{0,2,1} parameter(0)\n ROOT r = f32[2,3,4]{0,2,1} "
      "negate(p)\n}\n",
      "\nENTRY e {\n p = (f32[2,3]{0,1}, s8[3,2]{0,1}) parameter(0)\n a = f32[2,3]{0,1} "
      "get-tuple-element(p), index=0\n b = s8[3,2]{0,1} get-tuple-element(p), index=1\n n = "
      "f32[2,3]{0,1} negate(a)\n ROOT t = (s8[3,2]{0,1}, f32[2,3]{0,1}, f32[2,3]{0,1}) tuple(b, "
      "n, n)\n}\n",
      "\nENTRY e {\n c = f32[2,3]{0,1} constant({{1,2,3},{4,5,6}})\n p = f32[2,3]{0,1} "
      "parameter(0)\n ROOT r = f32[2,3]{0,1} add(c, p)\n}\n",
  };
  for (const char* text : rows) {
    RunSpec request;
    request.test.run_passes = false;
    const RunReport report = RunBeside(text, request);
    EXPECT_EQ(report.status, RunStatus::kEqual) << text;
    EXPECT_FALSE(report.error.has_value()) << report.error->ToString();
  }
}

TEST(XlaCpu, SaysWhatItCannotRun) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const struct {
    const char *text, *message;
    RunStatus status;
  } rows[] = {
      {"\nENTRY e {\n t = token[] after-all()\n ROOT r = (f32[2], token[]) infeed(t)\n}\n",
       "a plugin has no host program to exchange data with", RunStatus::kUnsupported},
      {"\nENTRY e {\n a = f32[2] parameter(0)\n ROOT r = f32[2] custom-call(a), "
       "custom_call_target=\"xla_ffi_python_cpu_callback\"\n}\n",
       "it is a host callback", RunStatus::kUnsupported},
      {"\nENTRY e {\n a = f32[2] parameter(0)\n ROOT r = f32[2] custom-call(a), "
       "custom_call_target=\"nobody_knows\"\n}\n",
       "nobody_knows", RunStatus::kUnsupported},
      {"\nENTRY e {\n ROOT r = f32[64] constant({...})\n}\n", "--fill-elided", RunStatus::kError},
  };
  for (const auto& row : rows) {
    const RunReport report = RunBeside(row.text);
    EXPECT_EQ(report.status, row.status) << row.text;
    ASSERT_TRUE(report.error.has_value());
    EXPECT_NE(report.error->ToString().find(row.message), std::string::npos)
        << report.error->ToString();
  }
}

TEST(XlaCpu, FillsElidedConstantsAsTheInterpreter) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  RunSpec request;
  request.load.fill_elided = 5;
  const RunReport report =
      RunBeside("\nENTRY e {\n ROOT c = f32[64] constant({...})\n}\n", request);
  EXPECT_EQ(report.status, RunStatus::kEqual);
}

TEST(XlaCpu, FlagsReachXla) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  RunSpec request;
  request.test.xla_flags = {{"xla_no_such_flag", "1"}};
  const RunReport report = RunBeside("\nENTRY e {\n ROOT a = f32[4] parameter(0)\n}\n", request);
  ASSERT_TRUE(report.error.has_value());
  EXPECT_EQ(report.status, RunStatus::kError);
  EXPECT_EQ(report.error->error_class, ErrorClass::kInput);
  EXPECT_NE(report.error->message.find("xla_no_such_flag"), std::string::npos)
      << report.error->message;
}

// Pieces: a fault of the plugin is found at its instruction, however the values flow.
constexpr const char* kOptimized = R"(, is_scheduled=true
doubled {
  p = f32[3,4]{0,1} parameter(0)
  ROOT q = f32[3,4]{0,1} add(p, p)
}
grown {
  p = f32[3,4]{0,1} parameter(0)
  q = f32[3,4]{0,1} negate(p)
  ROOT r = f32[3,4]{0,1} subtract(p, q)
}
next { i = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT n = s32[] add(i, one)
}
next.1 { i = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT n = s32[] add(i, one)
}
inner_less { i = s32[] parameter(0)
  two = s32[] constant(2)
  ROOT l = pred[] compare(i, two), direction=LT
}
outer_less { i = s32[] parameter(0)
  three = s32[] constant(3)
  ROOT l = pred[] compare(i, three), direction=LT
}
inner_body {
  state = (s32[], f32[3,4]{0,1}) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  value = f32[3,4]{0,1} get-tuple-element(state), index=1
  turn.1 = s32[] fusion(turn), kind=kLoop, calls=next
  value.1 = f32[3,4]{0,1} fusion(value), kind=kLoop, calls=doubled
  ROOT state.1 = (s32[], f32[3,4]{0,1}) tuple(turn.1, value.1)
}
inner_condition {
  state.2 = (s32[], f32[3,4]{0,1}) parameter(0)
  turn.2 = s32[] get-tuple-element(state.2), index=0
  ROOT again = pred[] fusion(turn.2), kind=kLoop, calls=inner_less
}
outer_body {
  outer = (s32[], f32[3,4]{0,1}) parameter(0)
  outer_turn = s32[] get-tuple-element(outer), index=0
  outer_value = f32[3,4]{0,1} get-tuple-element(outer), index=1
  zero.1 = s32[] constant(0)
  start = s32[] copy(zero.1)
  begin = (s32[], f32[3,4]{0,1}) tuple(start, outer_value)
  inner_loop = (s32[], f32[3,4]{0,1}) while(begin), condition=inner_condition, body=inner_body
  inner_value = f32[3,4]{0,1} get-tuple-element(inner_loop), index=1
  outer_turn.1 = s32[] fusion(outer_turn), kind=kLoop, calls=next.1
  grown_value = f32[3,4]{0,1} fusion(inner_value), kind=kLoop, calls=grown
  ROOT outer.1 = (s32[], f32[3,4]{0,1}) tuple(outer_turn.1, grown_value)
}
outer_condition {
  outer.2 = (s32[], f32[3,4]{0,1}) parameter(0)
  outer_turn.2 = s32[] get-tuple-element(outer.2), index=0
  ROOT outer_again = pred[] fusion(outer_turn.2), kind=kLoop, calls=outer_less
}
ENTRY e {
  a = f32[3,4]{1,0} parameter(0)
  zero = s32[] constant(0)
  first = s32[] copy(zero)
  turned = f32[3,4]{0,1} copy(a)
  init = (s32[], f32[3,4]{0,1}) tuple(first, turned)
  outer_loop = (s32[], f32[3,4]{0,1}) while(init), condition=outer_condition, body=outer_body
  value.2 = f32[3,4]{0,1} get-tuple-element(outer_loop), index=1
  ROOT back = f32[3,4]{1,0} copy(value.2)
}
)";

// What a run tells beside its results, by name, path, device and leaf.
class TakenValues : public replay::RunStream {
 public:
  explicit TakenValues(const hlo::Module& module) : module_(module) {}
  void Take(replay::RunEvent event) override {
    if (auto* result = std::get_if<replay::LeafResult>(&event)) results.push_back(result->value);
    auto* captured = std::get_if<replay::CapturedValue>(&event);
    if (captured == nullptr) return;
    std::string name = fmt::format("{}/", captured->key.device);
    for (const runtime::Frame& frame : captured->key.path) {
      name += fmt::format("{}[{}]/", module_.name(frame.caller), frame.iteration);
    }
    name += fmt::format("{}.{}", module_.name(captured->key.instruction), captured->key.leaf);
    EXPECT_TRUE(values.emplace(name, captured->value).second) << name;
  }

  std::map<std::string, replay::CapturedForm> values;
  std::vector<Result<hlo::Literal>> results;

 private:
  const hlo::Module& module_;
};

TakenValues CaptureOn(const std::string& platform, const std::shared_ptr<const hlo::Module>& module,
                      replay::CaptureForm form) {
  RunSpec request;
  request.test.name = platform;
  request.test.run_passes = false;
  replay::CapturePlan plan;
  plan.items.push_back({replay::CaptureScope::kFusionBoundaries, form});
  TakenValues taken(*module);
  const auto run = RunCapturing(module, request, plan, taken);
  EXPECT_TRUE(run.has_value()) << run.error().ToString();
  return taken;
}

TEST(XlaCpuCapture, ReportsEveryBoundaryUnderTheKeysOfTheInterpreter) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const auto parsed = hlo::ParseText(std::string("HloModule m") + kOptimized);
  for (const hlo::Diagnostic& d : parsed.diagnostics) ADD_FAILURE() << d.message;
  ASSERT_NE(parsed.module, nullptr);
  for (const replay::CaptureForm form : {replay::CaptureForm::kBytes, replay::CaptureForm::kHash}) {
    const TakenValues plugin = CaptureOn("xla-cpu", parsed.module, form);
    const TakenValues interpreter = CaptureOn("interpreter", parsed.module, form);
    EXPECT_EQ(interpreter.values.size(), 45u);
    EXPECT_TRUE(interpreter.values.contains("0/outer_loop[2]/inner_loop[1]/value.1.0"));
    for (const auto& [name, value] : interpreter.values) {
      const auto found = plugin.values.find(name);
      ASSERT_NE(found, plugin.values.end()) << name;
      if (form == replay::CaptureForm::kHash) {
        EXPECT_EQ(std::get<uint64_t>(found->second), std::get<uint64_t>(value)) << name;
      } else {
        EXPECT_EQ(std::get<hlo::Literal>(found->second), std::get<hlo::Literal>(value)) << name;
      }
    }
    EXPECT_EQ(plugin.values.size(), interpreter.values.size());
    EXPECT_EQ(*plugin.results.at(0), *interpreter.results.at(0));
  }
}

TEST(XlaCpuCapture, SaysWhatItCannotCapture) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const auto parsed = hlo::ParseText(std::string("HloModule m") + kOptimized);
  RunSpec request;
  request.test.name = "xla-cpu";
  replay::CapturePlan plan;
  plan.items.push_back({replay::CaptureScope::kFusionBoundaries});
  TakenValues taken(*parsed.module);
  const auto with_passes = RunCapturing(parsed.module, request, plan, taken);
  ASSERT_FALSE(with_passes.has_value());
  EXPECT_EQ(with_passes.error().error_class, ErrorClass::kUnsupported);
  request.test.run_passes = false;
  for (uint32_t k = 0; k < parsed.module->instructions().size(); ++k) {
    if (parsed.module->name(hlo::InstructionId(k)) != "q") continue;
    plan.items = {{.instructions = {hlo::InstructionId(k)}}};
  }
  const auto inside = RunCapturing(parsed.module, request, plan, taken);
  ASSERT_FALSE(inside.has_value());
  EXPECT_EQ(inside.error().error_class, ErrorClass::kUnsupported);
}

TEST(Isolate, FindsSeededFaults) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const auto library = std::filesystem::canonical("/proc/self/exe").parent_path();
  setenv("HLOSCOPE_FAULT_PLUGIN", PluginPath().c_str(), 1);
  const std::pair<const char*, const char*> faults[] = {{"tanh=sign", "t"},
                                                        {"maximum=minimum", "m"},
                                                        {"cosine=negate", "c"},
                                                        {"sqrt=sine", "f"},
                                                        {"multiply=subtract", "p"}};
  for (const auto& [fault, guilty] : faults) {
    setenv("HLOSCOPE_FAULT", fault, 1);
    RunSpec request;
    request.test.name = "pjrt:" + (library / "libfault_plugin.so").string();
    request.compare.isolate = true;
    const RunReport report = RunBeside(
        "\nENTRY e {\n x = f32[16] parameter(0)\n y = f32[16] parameter(1)\n t = f32[16] tanh(x)\n "
        "s = f32[16] add(t, y)\n m = f32[16] maximum(s, x)\n c = f32[16] cosine(m)\n k = f32[16] "
        "add(c, t)\n f = f32[16] sqrt(k)\n p = f32[16] multiply(f, k)\n ROOT r = f32[16] "
        "subtract(k, p)\n}\n",
        request);
    EXPECT_EQ(report.status, RunStatus::kDiffers) << fault;
    ASSERT_TRUE(report.first_divergent.has_value()) << fault;
    EXPECT_EQ(report.first_divergent->instruction, guilty);
  }
  unsetenv("HLOSCOPE_FAULT");
}

// A dynamic-slice of a dynamic-slice that begins out of range: neither is wrong alone. The plugin
// known here has the fault; one without it has nothing to find.
TEST(Isolate, GrowsToTwoInstructions) {
  if (PluginPath().empty()) GTEST_SKIP() << "no XLA:CPU plugin";
  const auto parsed = hlo::ParseText(
      "HloModule m\nENTRY e {\n x = f32[16] iota(), iota_dimension=0\n i = s32[] parameter(0)\n j "
      "= "
      "s32[] parameter(1)\n y = f32[16] add(x, x)\n a = f32[8] dynamic-slice(y, i), "
      "dynamic_slice_sizes={8}\n ROOT b = f32[2] dynamic-slice(a, j), "
      "dynamic_slice_sizes={2}\n}\n");
  ASSERT_TRUE(parsed.ok());
  RunSpec request;
  request.test.name = "xla-cpu";
  request.reference.name = "interpreter";
  request.compare.isolate = true;
  const hlo::Shape scalar = hlo::Shape::Scalar(hlo::ElementType::kS32);
  for (int32_t start : {12, 3}) {
    request.inputs.arguments.push_back(hlo::Literal::Of<int32_t>(scalar, std::span(&start, 1)));
  }
  const RunReport report = RunModule(parsed.module, request);
  if (report.status == RunStatus::kEqual) GTEST_SKIP() << "this plugin has no such fault";
  ASSERT_TRUE(report.first_divergent.has_value());
  EXPECT_EQ(report.first_divergent->instruction, "b");
  EXPECT_EQ(report.first_divergent->together_with, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace hloscope::debug
