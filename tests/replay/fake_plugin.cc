// A plugin of PJRT's shape for tests: it compiles nothing, and can be built to be wrong in one way.
// FAKE_MAJOR and FAKE_MINOR: the version it says. FAKE_SIZES: it insists on sizes of its own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/replay/pjrt/c_api.h"

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

// Every program fails with the status code that its first byte names.
PluginError* CompileProgram(ClientCompileArgs* args) {
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
  ExtensionHead extension = {24, kFakeExtension, nullptr};
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
