// The child Python of a jaxlib: what is made of its answers, whatever they are. The Python is real,
// the jaxlib is not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/backends/jaxlib/jaxlib_process.h"
#include "core/backends/pjrt/compile_options.h"
#include "core/backends/pjrt/jaxlib_compile.h"
#include "core/backends/pjrt/stablehlo_changes.h"
#include "tests/hlo/parsed.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;
using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

// Answers to the first job, before `body` has the connection.
constexpr std::string_view kOpened =
    "    job, data = receive()\n"
    "    answer({'version': '9.9', 'python': '3', 'platform': 'cpu', 'devices': 1})\n";

class JaxlibChild : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "jaxlib-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // An interpreter that runs the script with `body` for its loop.
  JaxlibStart Fake(std::string_view body) {
    const std::string path = folder_ / "python";
    std::ofstream(path) << "#!/usr/bin/env python3\n"
                           "import sys\n"
                           "script = sys.argv[2]\n"
                           "sys.argv[:] = ['-c'] + sys.argv[3:]\n"
                           "exec(script[:script.rindex('serve()')])\n"
                           "if True:\n"
                        << body;
    chmod(path.c_str(), S_IRWXU);
    return {{path, "", "", "a test"}, {}, 1};
  }
  JaxlibStart Opened(std::string_view body) {
    return Fake("    send(READY, text(PROTOCOL))\n" + std::string(kOpened) +
                "    job, data = receive()\n" + std::string(body));
  }

  static Budget Bounds(int seconds = 60) {
    return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds)};
  }

  // What comes of running something behind `body`.
  Result<JaxlibResults> Run(std::string_view body) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto child, JaxlibProcess::Start(Opened(body), Bounds()));
    const std::vector<std::vector<Literal>> arguments = {
        {Literal::Of<float>(Shape::Array(ElementType::kF32, {2}), std::vector<float>{1, 2})}};
    return child->Run(1, arguments, false, Bounds());
  }

  fs::path folder_;
};

TEST_F(JaxlibChild, ResultsComeBackAsTheyAre) {
  const auto results = Run(
      "    spec = job['arguments'][0][0]\n"
      "    assert spec == {'type': 'f32', 'dims': [2], 'bytes': 8}, spec\n"
      "    answer({'run_us': 5, 'outputs': [[spec, {'type': 's32', 'dims': [], 'bytes': 4}]]},\n"
      "           [bytes(take_parts(data, [8])[0]), b'\\x07\\0\\0\\0'])\n"
      "    receive()\n");
  ASSERT_TRUE(results.has_value()) << results.error().ToString();
  EXPECT_EQ(results->run_us, 5);
  ASSERT_EQ(results->outputs.size(), 1u);
  ASSERT_EQ(results->outputs[0].size(), 2u);
  EXPECT_EQ(results->outputs[0][0].data<float>()[1], 2);
  EXPECT_EQ(results->outputs[0][1].data<int32_t>()[0], 7);
}

TEST_F(JaxlibChild, LargeArraysGoThroughSharedMemory) {
  const auto results =
      Run("    big = bytes(range(256)) * 4096\n"
          "    answer({'run_us': 1, 'outputs': [[{'type': 'u8', 'dims': [1048576], 'bytes': "
          "1048576}]]}, [big])\n"
          "    receive()\n");
  ASSERT_TRUE(results.has_value()) << results.error().ToString();
  EXPECT_EQ(results->outputs[0][0].data<uint8_t>()[1048575], 255);
}

TEST_F(JaxlibChild, AnswersWithoutSenseAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"answer({'run_us': 1})", "another number of devices"},
      {"answer({'outputs': []})", "another number of devices"},
      {"answer({'outputs': [1]})", "not a list"},
      {"answer({'outputs': [[1]]})", "without a shape"},
      {"answer({'outputs': [[{'type': 'f32', 'dims': [-1], 'bytes': 4}]]}, [b'1234'])",
       "not a number"},
      {"answer({'outputs': [[{'type': 'f32', 'dims': [2], 'bytes': 4}]]}, [b'1234'])",
       "another size"},
      {"answer({'outputs': [[{'type': 'f32', 'dims': [9223372036854775807, 4], 'bytes': 4}]]}, "
       "[b'1'])",
       "malformed"},
      {"answer({'outputs': [[{'type': 'f32', 'dims': [1000], 'bytes': 4000}]]}, [b'1234'])",
       "longer than the message"},
      {"answer({'outputs': [[{'type': 'tuple', 'dims': [], 'bytes': 0}]]})", "of the type tuple"},
      {"answer({'outputs': [[{'type': 'x', 'dims': [], 'bytes': 0}]]})", "of the type x"},
      {"answer([1])", "not JSON"},
      {"send(TASK_DONE, text('{'))", "not JSON"},
      {"send(TASK_DONE, b'123')", "unexpected message"},
      {"send(READY, text('{}'))", "unexpected message"},
      {"send(TASK_DONE, struct.pack('<Q', 1 << 60))", "unexpected message"},
  };
  for (const auto& [body, message] : cases) {
    const auto results = Run("    " + std::string(body) + "\n    receive()\n");
    ASSERT_FALSE(results.has_value()) << body;
    EXPECT_NE(results.error().message.find(message), std::string::npos)
        << body << ": " << results.error().ToString();
  }
}

TEST_F(JaxlibChild, MalformedFramesEndIt) {
  const auto results = Run("    connection.sendall(b'nonsense' * 100)\n    receive()\n");
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().error_class, ErrorClass::kCrashed);
}

TEST_F(JaxlibChild, DeathsAndHangsAreNamedWithTheirStage) {
  const auto killed =
      Run("    at('run')\n    print('F0000 Check failed: this', flush=True)\n    "
          "os.kill(os.getpid(), 6)\n");
  ASSERT_FALSE(killed.has_value());
  EXPECT_EQ(killed.error().error_class, ErrorClass::kCrashed);
  EXPECT_NE(killed.error().message.find("SIGABRT"), std::string::npos);
  EXPECT_NE(killed.error().message.find("at run"), std::string::npos) << killed.error().message;
  EXPECT_NE(killed.error().message.find("Check failed: this"), std::string::npos);

  const auto child = JaxlibProcess::Start(Opened("    time.sleep(1000)\n"), Bounds());
  ASSERT_TRUE(child.has_value());
  const auto hung = (*child)->Run(1, std::vector<std::vector<Literal>>(1), false, Bounds(0));
  ASSERT_FALSE(hung.has_value());
  EXPECT_EQ(hung.error().error_class, ErrorClass::kDeadlineExceeded);
  EXPECT_NE(hung.error().message.find("the deadline passed"), std::string::npos);
  EXPECT_FALSE((*child)->IsUsable());
}

TEST_F(JaxlibChild, WhatItRefusesKeepsItsReason) {
  const std::pair<const char*, ErrorClass> cases[] = {
      {"{'refused': 'unsupported', 'message': 'why'}", ErrorClass::kUnsupported},
      {"{'refused': 'xla', 'message': 'UNIMPLEMENTED: why'}", ErrorClass::kUnsupported},
      {"{'refused': 'xla', 'message': 'INVALID_ARGUMENT: why'}", ErrorClass::kInput},
      {"{'refused': 'xla', 'message': 'INTERNAL: why'}", ErrorClass::kInternal},
      {"{'refused': 'environment', 'message': 'why'}", ErrorClass::kEnvironment},
  };
  for (const auto& [reply, error_class] : cases) {
    const auto results = Run("    answer(" + std::string(reply) + ")\n    receive()\n");
    ASSERT_FALSE(results.has_value());
    EXPECT_EQ(results.error().error_class, error_class) << reply;
    EXPECT_TRUE(results.error().message.starts_with("jaxlib 9.9: ")) << results.error().message;
    EXPECT_NE(results.error().message.find("why"), std::string::npos);
  }
}

TEST_F(JaxlibChild, PythonWithoutJaxlibIsSaidWithTheFix) {
  const auto child =
      JaxlibProcess::Start(Fake("    sys.modules['jaxlib'] = None\n    serve()\n"), Bounds());
  ASSERT_FALSE(child.has_value());
  EXPECT_EQ(child.error().error_class, ErrorClass::kEnvironment) << child.error().ToString();
  EXPECT_NE(child.error().message.find("cannot import jaxlib"), std::string::npos);
  EXPECT_NE(child.error().hint.find("-m pip install jaxlib"), std::string::npos);
}

TEST_F(JaxlibChild, UnknownFlagsAreNamed) {
  JaxlibStart start = Fake(
      "    send(READY, text(PROTOCOL))\n"
      "    print('F parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: ' + "
      "os.environ['XLA_FLAGS'], flush=True)\n"
      "    os.abort()\n");
  start.flags = {{"xla_no_such", "1"}};
  const auto child = JaxlibProcess::Start(start, Bounds());
  ASSERT_FALSE(child.has_value());
  EXPECT_EQ(child.error().error_class, ErrorClass::kInput) << child.error().ToString();
  EXPECT_NE(child.error().message.find("--xla_no_such=1"), std::string::npos);
}

TEST_F(JaxlibChild, ProgramsThatAreNotPythonEndIt) {
  for (const char* program : {"/bin/false", "/nowhere/python3"}) {
    EXPECT_FALSE(JaxlibProcess::Start({{program, "", "", ""}, {}, 1}, Bounds()).has_value());
  }
}

TEST_F(JaxlibChild, EnvironmentsAreFoundOnTheDisk) {
  const fs::path packages = folder_ / "env/lib/python3.11/site-packages";
  fs::create_directories(packages / "jaxlib-0.6.2.dist-info");
  fs::create_directories(folder_ / "env/bin");
  std::ofstream(folder_ / "env/bin/python3") << "";
  const auto found = FindJaxlibs({(folder_ / "env").string()});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].version, "0.6.2");
  EXPECT_EQ(found[0].python, folder_ / "env/bin/python3");
  fs::remove_all(packages / "jaxlib-0.6.2.dist-info");
  EXPECT_TRUE(FindJaxlibs({(folder_ / "env").string()}).empty());
  const auto none = ResolveJaxlib({(folder_ / "env").string()});
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("no jaxlib found; searched"), std::string::npos);
  // An interpreter that was named is tried, wherever its packages are.
  EXPECT_TRUE(ResolveJaxlib({(folder_ / "env/bin/python3").string()}).has_value());
}

TEST(StableHloChanges, CountWhatIsComputed) {
  const auto a = hlo::Parsed(
      "HloModule a\nENTRY e {\n p = f32[4]{0} parameter(0)\n c = f32[] constant(1)\n"
      " b = f32[4]{0} broadcast(c), dimensions={}\n ROOT s = f32[4]{0} add(p, b)\n}\n");
  const auto same = hlo::Parsed(
      "HloModule z\nENTRY e {\n q = f32[4] parameter(0)\n one = f32[] constant(1)\n"
      " x = f32[4] broadcast(one), dimensions={}\n y = f32[4] add(q, x)\n"
      " ROOT t = (f32[4]) tuple(y)\n}\n");
  const auto other = hlo::Parsed(
      "HloModule z\nENTRY e {\n q = f32[4] parameter(0)\n one = f32[] constant(2)\n"
      " x = f32[4] broadcast(one), dimensions={}\n y = f32[4] add(q, x)\n"
      " ROOT n = f32[4] negate(y)\n}\n");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(same, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(pjrt::StableHloChanges(*a, *same), "");
  EXPECT_EQ(pjrt::StableHloChanges(*a, *other),
            "constant f32[] and negate f32[4] added, constant f32[] removed");
}

TEST(AdaptForJaxlib, CollectivesHaveChannelsOfTheirOwn) {
  const auto module = hlo::Parsed(R"(HloModule m, replica_count=2
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=sum
  ROOT z = f32[8] all-gather(y), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
}
)");
  const auto adapted = AdaptForJaxlib(module, {});
  ASSERT_TRUE(adapted.has_value()) << adapted.error().message;
  std::set<int64_t> channels;
  for (const hlo::Instruction& each : adapted->module->instructions()) {
    const int64_t channel = adapted->module->GetInt(each, hlo::AttributeKey::kChannelId, 0);
    if (channel > 0) channels.insert(channel);
  }
  EXPECT_EQ(channels, (std::set<int64_t>{1, 2}));
}

// As JAX writes it: the sharding of one parameter and of one result is left to XLA.
constexpr const char* kOpen = R"(
ENTRY e {
  x = f32[8,16] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  w = f32[16,32] parameter(1)
  d = f32[8,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[8,16] negate(x)
  ROOT t = (f32[8,32], f32[8,16]) tuple(d, n)ROOT_SHARDING
}
)";

// `use_shardy_partitioner` is field 19 of ExecutableBuildOptionsProto, as jaxlib's CompileOptions
// writes it.
TEST(AdaptForJaxlib, ShardyPartitionsWhatItAnnotated) {
  const std::string_view use_shardy("\x98\x01\x01", 3);
  for (const bool shardy : {false, true}) {
    const auto adapted = AdaptForJaxlib(
        hlo::Parsed(fmt::format(
            "HloModule m, num_partitions=2{}\nENTRY e {{\n  x = f32[4] parameter(0)\n"
            "  ROOT n = f32[4] negate(x)\n}}\n",
            shardy ? ", frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"x\"=2]>}}" : "")),
        {});
    ASSERT_TRUE(adapted.has_value()) << adapted.error().message;
    EXPECT_EQ(adapted->partitioning.shardy, shardy);
    pjrt::CompileOptions options;
    options.partitions = 2;
    options.partitioning = adapted->partitioning;
    EXPECT_EQ(pjrt::Serialize(options).find(use_shardy) != std::string::npos, shardy);
  }
}

TEST(AdaptForJaxlib, XlaMayChooseWhatTheHeaderLeavesOpen) {
  const auto adapted = [](std::string_view header, std::string_view of_root) {
    std::string text = fmt::format("HloModule m, num_partitions=4{}{}", header, kOpen);
    const std::string_view place = "ROOT_SHARDING";
    text.replace(text.find(place), place.size(), of_root);
    const auto result = AdaptForJaxlib(hlo::Parsed(text), {});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return *result;
  };
  const auto sharding = [](const pjrt::Adapted& of, hlo::InstructionId id) {
    return of.module->Get<hlo::Sharding>((*of.module)[id], hlo::AttributeKey::kSharding);
  };
  using Flags = std::vector<bool>;
  const auto parameter = [](const pjrt::Adapted& of, size_t i) {
    return of.module->Parameters(of.module->entry_id())[i];
  };
  const pjrt::Adapted open = adapted(
      ", allow_spmd_sharding_propagation_to_parameters={false,true}, "
      "allow_spmd_sharding_propagation_to_output={true,true}",
      "");
  EXPECT_TRUE(open.partitioning.spmd);
  EXPECT_FALSE(open.partitioning.shardy);
  EXPECT_EQ(open.partitioning.to_parameters, (Flags{false, true}));
  EXPECT_EQ(open.partitioning.to_results, (Flags{true, true}));
  EXPECT_NE(sharding(open, parameter(open, 0)), nullptr);
  EXPECT_EQ(sharding(open, parameter(open, 1)), nullptr);
  EXPECT_EQ(sharding(open, open.module->entry().root), nullptr);

  const pjrt::Adapted mixed =
      adapted(", allow_spmd_sharding_propagation_to_output={true,false}",
              ", sharding={{replicated}, {devices=[2,1,2]<=[4] last_tile_dim_replicate}}");
  EXPECT_EQ(mixed.partitioning.to_parameters, (Flags{false, false}));
  EXPECT_EQ(mixed.partitioning.to_results, (Flags{true, false}));
  ASSERT_NE(sharding(mixed, mixed.module->entry().root), nullptr);
  EXPECT_EQ(sharding(mixed, mixed.module->entry().root)->elements.size(), 2U);
  EXPECT_NE(sharding(mixed, parameter(mixed, 1)), nullptr);

  const pjrt::Adapted closed = adapted("", "");
  EXPECT_EQ(closed.partitioning.to_results, (Flags{false, false}));
  EXPECT_FALSE(closed.partitioning.LeavesOpen());
  ASSERT_NE(sharding(closed, closed.module->entry().root), nullptr);

  // To Shardy nothing is said but what the module says.
  const pjrt::Adapted shardy = adapted(
      ", allow_spmd_sharding_propagation_to_output={true,false}, frontend_attributes="
      "{xla.sdy.meshes={mesh = #sdy.mesh<[\"data\"=2, \"model\"=2]>}}",
      "");
  EXPECT_TRUE(shardy.partitioning.shardy);
  EXPECT_EQ(shardy.partitioning.to_parameters, (Flags{false, false}));
  EXPECT_EQ(shardy.partitioning.to_results, (Flags{true, false}));
  EXPECT_EQ(sharding(shardy, parameter(shardy, 1)), nullptr);
  EXPECT_EQ(sharding(shardy, shardy.module->entry().root), nullptr);
}

}  // namespace
}  // namespace hloscope::replay
