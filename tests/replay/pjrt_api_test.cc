// Tests of loading plugins: versions, structure sizes and errors, against made-up ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/backends/pjrt/api.h"
#include "core/backends/pjrt/client.h"
#include "core/backends/pjrt/ffi.h"
#include "core/backends/pjrt/plugin_profiler.h"

namespace hloscope::replay::pjrt {
namespace {

// A plugin built beside this test.
std::string Fake(const std::string& name) {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / ("lib" + name + ".so");
}

TEST(OpenPlugin, SaysWhatIsWrong) {
  const std::string text = testing::TempDir() + "/no_library.so";
  std::ofstream(text) << "this is no library, whatever its name";
  const struct {
    std::string path, message;
  } rows[] = {
      {Fake("there_is_none"), "no such plugin"},
      {text, "not a shared library for this machine"},
      {Fake("fake_plugin_no_table"), "not a PJRT plugin: it has no GetPjrtApi"},
      {Fake("fake_plugin_major"),
       "implements version 1.100 of the PJRT interface, this build needs"},
      {Fake("fake_plugin_old"), "implements version 0.20 of the PJRT interface, at least 0.29"},
      {Fake("fake_plugin_no_start"), "cannot be initialised: no device of that kind"},
      {Fake("fake_plugin_missing"), "needs the library libfake_plugin_gone.so, which is not found"},
  };
  for (const auto& row : rows) {
    const auto plugin = OpenPlugin(row.path);
    ASSERT_FALSE(plugin.has_value()) << row.path;
    EXPECT_EQ(plugin.error().error_class, ErrorClass::kEnvironment);
    EXPECT_NE(plugin.error().message.find(row.message), std::string::npos)
        << plugin.error().message;
  }
}

TEST(OpenPlugin, ReadsWhatThePluginSaysOfItself) {
  const auto plugin = OpenPlugin(Fake("fake_plugin"));
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message;
  EXPECT_EQ((*plugin)->minor_version(), 100);
  EXPECT_TRUE((*plugin)->HasExtension(kProfilerExtension));
  EXPECT_FALSE((*plugin)->HasExtension(2));
  const std::vector<std::pair<std::string, std::string>> attributes = {{"fake_number", "7"},
                                                                       {"fake_version", "1.14.2"}};
  EXPECT_EQ((*plugin)->attributes(), attributes);
  EXPECT_TRUE((*plugin)->Has(Function::kClient_Create));
  EXPECT_FALSE((*plugin)->Has(Function::kBuffer_Destroy));                     // no such member
  EXPECT_FALSE((*plugin)->Has(Function::kExecutable_GetCompiledMemoryStats));  // behind its end
  EXPECT_EQ(OpenPlugin(Fake("fake_plugin")).value(), *plugin);
}

TEST(Call, AgreesOnSizes) {
  for (const char* name : {"fake_plugin", "fake_plugin_sizes"}) {
    const auto plugin = OpenPlugin(Fake(name));
    ASSERT_TRUE(plugin.has_value()) << plugin.error().message;
    Block<ClientCreateArgs> create;
    const Status created = (*plugin)->Call(create);
    ASSERT_TRUE(created.has_value()) << created.error().message;
    EXPECT_NE(create->client, nullptr);
    for (int i = 0; i < 2; ++i) {
      Block<ClientPlatformNameArgs> args;
      args->client = create->client;
      const Status named = (*plugin)->Call(args);
      ASSERT_TRUE(named.has_value()) << named.error().message;
      EXPECT_EQ(std::string(args->platform_name, args->platform_name_size), "fake");
    }
  }
}

TEST(Call, ErrorsAreThePluginsOwn) {
  const auto plugin = OpenPlugin(Fake("fake_plugin"));
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message;
  const struct {
    char code;
    ErrorClass error_class;
  } rows[] = {{'3', ErrorClass::kInput},        // invalid argument
              {'8', ErrorClass::kEnvironment},  // resource exhausted
              {'<', ErrorClass::kUnsupported},  // 12, unimplemented
              {'=', ErrorClass::kInternal}};    // 13, internal
  for (const auto& row : rows) {
    char code = row.code;
    Block<Program> program;
    program->code = &code;
    Block<ClientCompileArgs> args;
    args->program = program.get();
    const Status status = (*plugin)->Call(args, program);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().message, "said by the plugin");
    EXPECT_EQ(status.error().error_class, row.error_class) << row.code;
  }
  Block<BufferDestroyArgs> absent;
  const Status status = (*plugin)->Call(absent);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(status.error().message.find("does not provide PJRT_Buffer_Destroy_Args"),
            std::string::npos);
}

class KeepingSink : public CaptureSink {
 public:
  Status Take(const FfiCall& call) override {
    if (call.id == 13) return InputError("an unlucky number");
    ids.push_back(call.id);
    device = call.device;
    leaves = call.leaves.size();
    if (!call.leaves.empty()) {
      dimensions.assign(call.leaves[0].dimensions.begin(), call.leaves[0].dimensions.end());
      second = reinterpret_cast<const float*>(call.leaves[0].data)[1];
    }
    return {};
  }
  std::vector<int64_t> ids, dimensions;
  int64_t device = -1;
  size_t leaves = 0;
  float second = 0;
};

// What the fake plugin says to the program "f PROGRAM ID", for which it calls.
std::string CallOf(const Plugin& plugin, int64_t number, int64_t id) {
  std::string code = "f " + std::to_string(number) + " " + std::to_string(id);
  Block<Program> program;
  program->code = code.data();
  program->code_size = code.size();
  Block<ClientCompileArgs> compile;
  compile->program = program.get();
  return plugin.Call(compile, program).error().message;
}

TEST(OpenClient, TakesNoMoreOfGpusThanTheModuleNeeds) {
  const auto plugin = OpenPlugin(Fake("fake_plugin_gpu"));
  ASSERT_TRUE(plugin.has_value()) << plugin.error().ToString();
  const auto asked = [&](int64_t devices, bool is_gpu) {
    const auto client = OpenClient(*plugin, devices, is_gpu);
    return client.has_value() ? std::string() : client.error().message;
  };
  EXPECT_NE(asked(1, true).find("asked for preallocate=false visible_devices=0"), std::string::npos)
      << asked(1, true);
  // Where there are not so many, all are asked for, so that it can be said how many there are.
  EXPECT_TRUE(asked(2, true).ends_with("asked for preallocate=false")) << asked(2, true);
  EXPECT_TRUE(asked(1, false).ends_with("asked for")) << asked(1, false);
}

TEST(Capture, CallsReachTheSinkOfTheirProgram) {
  const auto plugin = OpenPlugin(Fake("fake_plugin_ffi"));
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(RegisterCapture(**plugin).has_value());
  const int64_t program = NewProgramNumber(), other = NewProgramNumber();
  ASSERT_NE(program, other);
  EXPECT_EQ(CaptureConfig(program, 7),
            "{id = 7 : i64, program = " + std::to_string(program) + " : i64}");
  KeepingSink sink;
  {
    const SinkScope scope(program, sink);
    EXPECT_EQ(CallOf(**plugin, program, 7), "called");
    EXPECT_EQ(CallOf(**plugin, other, 8), "called");  // nobody listens
    EXPECT_EQ(CallOf(**plugin, program, 13), "an unlucky number");
  }
  EXPECT_EQ(CallOf(**plugin, program, 9), "called");
  EXPECT_EQ(sink.ids, std::vector<int64_t>{7});
  EXPECT_EQ(sink.device, 3);
  EXPECT_EQ(sink.leaves, 2u);
  EXPECT_EQ(sink.dimensions, std::vector<int64_t>{2});
  EXPECT_EQ(sink.second, 2);
}

TEST(Capture, IsUnsupportedWithoutFfi) {
  const auto plugin = OpenPlugin(Fake("fake_plugin"));
  ASSERT_TRUE(plugin.has_value());
  const Status registered = RegisterCapture(**plugin);
  ASSERT_FALSE(registered.has_value());
  EXPECT_EQ(registered.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(registered.error().message.find("FFI"), std::string::npos);
}

TEST(PluginProfiler, GivesWhatThePluginCollected) {
  const auto plugin = OpenPlugin(Fake("fake_plugin_profiler"));
  ASSERT_TRUE(plugin.has_value()) << plugin.error().ToString();
  auto profiler = PluginProfiler::Start(**plugin);
  ASSERT_TRUE(profiler.has_value()) << profiler.error().ToString();
  ASSERT_NE(*profiler, nullptr);
  const auto second = PluginProfiler::Start(**plugin);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message, "the plugin's profiler: Another profile session running");
  const auto bytes = (*profiler)->Stop();
  ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
  EXPECT_TRUE(bytes->ends_with(" created started stopped")) << *bytes;
  // Options: host_tracer_level 2, device_tracer_level 1, python_tracer_level 0, version 1, modules.
  EXPECT_TRUE(bytes->starts_with(std::string_view("\x10\x02\x18\x01\x20\x00\x28\x01\x38\x01", 10)));
}

TEST(PluginProfiler, IsNotThereWithoutTheExtension) {
  const auto plugin = OpenPlugin(Fake("fake_plugin_ffi"));
  ASSERT_TRUE(plugin.has_value());
  const auto profiler = PluginProfiler::Start(**plugin);
  ASSERT_TRUE(profiler.has_value());
  EXPECT_EQ(*profiler, nullptr);
}

}  // namespace
}  // namespace hloscope::replay::pjrt
