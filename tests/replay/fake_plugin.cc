// A plugin of PJRT's shape for tests: it compiles nothing, and can be built to be wrong in one way.
// FAKE_MAJOR and FAKE_MINOR: the version it says. FAKE_SIZES: it insists on sizes of its own.
// FAKE_PROFILER: it has a profiler. FAKE_GPU: it makes no client and says what was asked for.
// FAKE_FFI: it takes a function of the caller's, and calls it for the program "f PROGRAM ID".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "core/backends/pjrt/c_api.h"
#include "core/backends/pjrt/ffi_api.h"
#include "core/backends/pjrt/profiler_api.h"

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 0
#endif
#ifndef FAKE_MINOR
#define FAKE_MINOR 100
#endif

namespace hloscope::replay::pjrt {
struct PluginError {
  int code;
  std::string message;
};
}  // namespace hloscope::replay::pjrt

namespace {

using namespace hloscope::replay::pjrt;

void Destroy(ErrorDestroyArgs* args) { delete args->error; }
void Message(ErrorMessageArgs* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}
PluginError* GetCode(ErrorGetCodeArgs* args) {
  args->code = args->error->code;
  return nullptr;
}

[[maybe_unused]] PluginError* Refuse(const char* name, size_t expected, size_t got) {
  return new PluginError{3, "Unexpected " + std::string(name) + " size: expected " +
                                std::to_string(expected) + ", got " + std::to_string(got) + "."};
}

PluginError* Initialize(PluginInitializeArgs*) {
#ifdef FAKE_NO_START
  return new PluginError{9, "no device of that kind"};
#else
  return nullptr;
#endif
}

PluginError* Attributes(PluginAttributesArgs* args) {
  static const int64_t kVersion[] = {1, 14, 2};
  static NamedValue values[2];
  values[0] = NamedValue{{NamedValue::kSize, nullptr}, "fake_number",      11,
                         NamedValueType::kInt64,       {.int64_value = 7}, 1};
  values[1] = NamedValue{{NamedValue::kSize, nullptr},
                         "fake_version",
                         12,
                         NamedValueType::kInt64List,
                         {.int64_array_value = kVersion},
                         3};
  args->attributes = values;
  args->num_attributes = 2;
  return nullptr;
}

// An older plugin that compares sizes for equality.
[[maybe_unused]] constexpr size_t kOldCreateSize = 72;
PluginError* CreateClient(ClientCreateArgs* args) {
#ifdef FAKE_SIZES
  if (args->header.struct_size != kOldCreateSize) {
    return Refuse("PJRT_Client_Create_Args", kOldCreateSize, args->header.struct_size);
  }
#endif
#ifdef FAKE_GPU
  std::string said = "asked for";
  for (const NamedValue& option : std::span(args->create_options, args->num_options)) {
    said += " " + std::string(option.name, option.name_size) + "=";
    if (option.type == NamedValueType::kBool) said += option.bool_value ? "true" : "false";
    if (option.type != NamedValueType::kInt64List) continue;
    for (size_t i = 0; i < option.value_size; ++i) {
      said += (i == 0 ? "" : ",") + std::to_string(option.int64_array_value[i]);
    }
  }
  return new PluginError{3, said};
#endif
  static int client = 0;
  args->client = reinterpret_cast<Client*>(&client);
  return nullptr;
}
PluginError* DestroyClient(ClientDestroyArgs*) { return nullptr; }

// A newer plugin with a field more, which must be zero.
PluginError* PlatformName(ClientPlatformNameArgs* args) {
#ifdef FAKE_SIZES
  if (args->header.struct_size < ClientPlatformNameArgs::kSize + 8) {
    return Refuse("PJRT_Client_PlatformName_Args", ClientPlatformNameArgs::kSize + 8,
                  args->header.struct_size);
  }
  uint64_t newer = 1;
  std::memcpy(&newer, reinterpret_cast<const char*>(args) + ClientPlatformNameArgs::kSize, 8);
  if (newer != 0) return new PluginError{3, "the newer field is not zero"};
#endif
  args->platform_name = "fake";
  args->platform_name_size = 4;
  return nullptr;
}

#ifdef FAKE_FFI
using Handler = void* (*)(ffi::CallFrame*);
Handler handler = nullptr;

// As XLA does: first it asks which version the function speaks.
PluginError* RegisterHandler(ffi::RegisterHandlerArgs* args) {
  ffi::Metadata metadata = {36, {24, nullptr}, -1, -1, 1};
  ffi::CallExtension extension = {32, ffi::kMetadataExtension, nullptr, &metadata};
  ffi::CallFrame frame{};
  frame.struct_size = sizeof(frame);
  frame.extension_start = &extension;
  handler = reinterpret_cast<Handler>(args->handler);
  if (handler(&frame) != nullptr || metadata.major != 0 || metadata.minor < 1) {
    return new PluginError{3, "a handler of an unknown version"};
  }
  const std::string platform(args->platform_name, args->platform_name_size);
  return platform == "Host" ? nullptr : new PluginError{3, "a handler for another platform"};
}

void* CreateError(ffi::ErrorCreateArgs* args) { return new std::string(args->message); }
void* DeviceOrdinal(ffi::DeviceOrdinalGetArgs* args) {
  args->device_ordinal = 3;
  return nullptr;
}

// One execution on f32[2] and a token.
PluginError* CallHandler(int64_t program, int64_t id) {
  ffi::Api api{};
  api.error_create = &CreateError;
  api.device_ordinal_get = &DeviceOrdinal;
  const float data[] = {1, 2};
  const int64_t dims[] = {2};
  ffi::Buffer array = {{48, nullptr}, 11, data, 1, dims},
              token = {{48, nullptr}, 17, nullptr, 0, {}};
  ffi::Buffer* const buffers[] = {&array, &token};
  const int32_t types[] = {1, 1};
  ffi::Name id_name = {"id", 2}, program_name = {"program", 7};
  ffi::Name* const names[] = {&id_name, &program_name};
  ffi::Scalar id_value = {ffi::kS64, &id}, program_value = {ffi::kS64, &program};
  void* const values[] = {&id_value, &program_value};
  const int32_t kinds[] = {ffi::kScalarAttribute, ffi::kScalarAttribute};
  ffi::CallFrame frame{};
  frame.struct_size = sizeof(frame);
  frame.api = &api;
  frame.stage = ffi::kExecuteStage;
  frame.arguments = {{40, nullptr}, 2, types, buffers};
  frame.attributes = {{48, nullptr}, 2, kinds, names, values};
  auto* const failed = static_cast<std::string*>(handler(&frame));
  auto* const error = new PluginError{9, failed == nullptr ? "called" : *failed};
  delete failed;
  return error;
}
#endif

#ifdef FAKE_PROFILER
// A session gives what it was created with behind its steps; one that is started twice refuses.
struct FakeSession {
  std::string steps;
};
bool is_profiling = false;
ProfilerError* RefuseProfiling() {
  return reinterpret_cast<ProfilerError*>(new std::string("Another profile session running"));
}
FakeSession& Of(PluginSession* session) { return *reinterpret_cast<FakeSession*>(session); }
const ProfilerApi kProfilerApi = {
    sizeof(ProfilerApi),
    nullptr,
    [](ProfilerErrorArgs* args) { delete reinterpret_cast<std::string*>(args->error); },
    [](ProfilerErrorArgs* args) {
      const auto& text = *reinterpret_cast<std::string*>(args->error);
      args->message = text.data();
      args->message_size = text.size();
    },
    nullptr,
    [](ProfilerCreateArgs* args) -> ProfilerError* {
      args->session = reinterpret_cast<PluginSession*>(
          new FakeSession{std::string(args->options, args->options_size) + " created"});
      return nullptr;
    },
    [](ProfilerSessionArgs* args) -> ProfilerError* {
      is_profiling = false;
      delete &Of(args->session);
      return nullptr;
    },
    [](ProfilerSessionArgs* args) -> ProfilerError* {
      if (is_profiling) return RefuseProfiling();
      is_profiling = true;
      Of(args->session).steps += " started";
      return nullptr;
    },
    [](ProfilerSessionArgs* args) -> ProfilerError* {
      Of(args->session).steps += " stopped";
      return nullptr;
    },
    [](ProfilerCollectArgs* args) -> ProfilerError* {
      const std::string& steps = Of(args->session).steps;
      if (args->buffer != nullptr) std::memcpy(args->buffer, steps.data(), args->buffer_size);
      args->buffer_size = steps.size();
      return nullptr;
    }};
#endif

// Every program fails with the status code that its first byte names.
PluginError* CompileProgram(ClientCompileArgs* args) {
#ifdef FAKE_FFI
  const std::string code(args->program->code, args->program->code_size);
  if (code[0] == 'f') {
    char* end = nullptr;
    const int64_t program = std::strtoll(code.c_str() + 1, &end, 10);
    return CallHandler(program, std::strtoll(end, nullptr, 10));
  }
#endif
  return new PluginError{args->program->code[0] - '0', "said by the plugin"};
}

struct Table {
  Table() {
    std::memset(bytes, 0, sizeof(bytes));
    const ApiHead head = {{sizeof(bytes), &extension}, {24, nullptr}, FAKE_MAJOR, FAKE_MINOR};
    std::memcpy(bytes, &head, sizeof(head));
    Set(Function::kError_Destroy, &Destroy);
    Set(Function::kError_Message, &Message);
    Set(Function::kError_GetCode, &GetCode);
    Set(Function::kPlugin_Initialize, &Initialize);
    Set(Function::kPlugin_Attributes, &Attributes);
    Set(Function::kClient_Create, &CreateClient);
    Set(Function::kClient_Destroy, &DestroyClient);
    Set(Function::kClient_PlatformName, &PlatformName);
    Set(Function::kClient_Compile, &CompileProgram);
  }
  template <typename F>
  void Set(Function function, F entry) {
    std::memcpy(bytes + static_cast<size_t>(function), static_cast<const void*>(&entry),
                sizeof(entry));
  }
#ifdef FAKE_FFI
  ffi::Extension ffi = {48, ffi::kExtensionType, nullptr, nullptr, nullptr, &RegisterHandler};
  ExtensionHead extension = {24, kFakeExtension, reinterpret_cast<ExtensionHead*>(&ffi)};
#elif defined(FAKE_PROFILER)
  ProfilerExtension profiler = {{40, kFakeExtension, nullptr}, &kProfilerApi, 0};
  ExtensionHead& extension = profiler.head;
#else
  ExtensionHead extension = {24, kFakeExtension, nullptr};
#endif
  static constexpr int32_t kFakeExtension = 1;
  alignas(8) char bytes[800];
};

}  // namespace

#ifndef FAKE_NO_TABLE
extern "C" const void* GetPjrtApi();
const void* GetPjrtApi() {
  static const Table table;
  return table.bytes;
}
#endif
