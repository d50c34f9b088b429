// The binary interface of FFI: the part that is used here, for 64-bit machines. Every structure
// says its size first; names are the interface's own without their prefix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/backends/pjrt/c_api.h"

namespace hloscope::replay::pjrt::ffi {

struct Head {
  size_t struct_size;
  void* extension_start;
};

// PJRT's extension number 5.
inline constexpr int32_t kExtensionType = 5;
struct RegisterHandlerArgs {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  int32_t traits;
};
inline constexpr size_t kRegisterHandlerArgsSize = 56;
struct Extension {
  size_t struct_size;
  int32_t type;
  Extension* next;
  void* type_register;
  void* user_data_add;
  PluginError* (*register_handler)(RegisterHandlerArgs*);
};
static_assert(offsetof(Extension, register_handler) == 40);

// What registering asks a handler for.
inline constexpr int32_t kMetadataExtension = 1;
struct Metadata {
  size_t struct_size;
  Head version_header;
  int32_t major, minor;
  uint32_t traits;
};
static_assert(offsetof(Metadata, traits) == 32);
struct CallExtension {
  size_t struct_size;
  int32_t type;
  CallExtension* next;
  Metadata* metadata;
};
static_assert(offsetof(CallExtension, metadata) == 24);

struct ErrorCreateArgs {
  Head header;
  const char* message;
  int32_t code;
};
struct DeviceOrdinalGetArgs {
  Head header;
  void* context;
  int32_t device_ordinal;  // out
};
inline constexpr size_t kErrorCreateArgsSize = 28, kDeviceOrdinalGetArgsSize = 28;
struct Api {
  std::byte before_error_create[48];
  void* (*error_create)(ErrorCreateArgs*);
  std::byte before_device_ordinal_get[128];
  void* (*device_ordinal_get)(DeviceOrdinalGetArgs*);
};
static_assert(offsetof(Api, device_ordinal_get) == 184);

struct Buffer {
  Head header;
  int32_t dtype;
  const void* data;
  int64_t rank;
  const int64_t* dims;
};
static_assert(offsetof(Buffer, data) == 24 && sizeof(Buffer) == 48);
struct Arguments {
  Head header;
  int64_t size;
  const int32_t* types;
  Buffer* const* items;
};
struct Name {
  const char* data;
  size_t size;
};
inline constexpr int32_t kScalarAttribute = 3, kS64 = 5;
struct Scalar {
  int32_t dtype;
  const void* value;
};
struct Attributes {
  Head header;
  int64_t size;
  const int32_t* types;
  Name* const* names;
  void* const* values;
};
inline constexpr int32_t kExecuteStage = 3;
struct CallFrame {
  size_t struct_size;
  CallExtension* extension_start;
  const Api* api;
  void* context;
  int32_t stage;
  Arguments arguments;
  Arguments results;
  Attributes attributes;
};
static_assert(offsetof(CallFrame, arguments) == 40 && offsetof(CallFrame, attributes) == 120 &&
              sizeof(CallFrame) == 168);

}  // namespace hloscope::replay::pjrt::ffi
