// The binary interface of PJRT's profiler extension, version 1. Names are its own without prefix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/backends/pjrt/c_api.h"

namespace hloscope::replay::pjrt {

struct ProfilerError;
struct PluginSession;

struct ProfilerErrorArgs {  // 24 bytes where it is destroyed, 40 where it is asked for its message
  size_t struct_size;
  void* private_data;
  ProfilerError* error;
  const char* message;  // out
  size_t message_size;  // out
};
constexpr size_t kProfilerErrorDestroySize = 24, kProfilerErrorMessageSize = 40;

struct ProfilerCreateArgs {
  size_t struct_size;
  const char* options;  // ProfileOptions as a proto
  size_t options_size;
  PluginSession* session;  // out
};

struct ProfilerSessionArgs {
  size_t struct_size;
  PluginSession* session;
};

struct ProfilerCollectArgs {
  size_t struct_size;
  PluginSession* session;
  uint8_t* buffer;     // null: asks for the size
  size_t buffer_size;  // out
};

struct ProfilerApi {
  size_t struct_size;
  void* private_data;
  void (*error_destroy)(ProfilerErrorArgs*);
  void (*error_message)(ProfilerErrorArgs*);
  void* error_get_code;
  ProfilerError* (*create)(ProfilerCreateArgs*);
  ProfilerError* (*destroy)(ProfilerSessionArgs*);
  ProfilerError* (*start)(ProfilerSessionArgs*);
  ProfilerError* (*stop)(ProfilerSessionArgs*);
  ProfilerError* (*collect)(ProfilerCollectArgs*);
};
static_assert(sizeof(ProfilerApi) == 80);

struct ProfilerExtension {
  ExtensionHead head;
  const ProfilerApi* api;  // may be null
  int64_t trace_context;
};
static_assert(offsetof(ProfilerExtension, api) == 24);

}  // namespace hloscope::replay::pjrt
