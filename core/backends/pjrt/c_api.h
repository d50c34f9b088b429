// The binary interface of a PJRT plugin: the part of its function table and argument structures
// that is used here, for 64-bit machines. Names are the interface's own without their prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hloscope::replay::pjrt {

// Things that belong to the plugin.
struct PluginError;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct Topology;

// How every structure begins. `struct_size` says which fields the caller knows.
struct Header {
  size_t struct_size;
  void* extension_start;
};

// How the table that GetPjrtApi gives begins; functions follow.
struct ApiHead {
  Header header;
  Header version_header;
  int32_t major;
  int32_t minor;
};
constexpr size_t kFirstFunction = 40;
static_assert(sizeof(ApiHead) == kFirstFunction);

struct ExtensionHead {
  size_t struct_size;
  int32_t type;
  ExtensionHead* next;
};

enum class Function : uint16_t {
#define FUNCTION(name, offset) k##name = (offset),
#include "core/backends/pjrt/functions.def"
#undef FUNCTION
};

// A structure of the interface: fields, its size (up to the end of the last field) and the function
// that takes it. Value is the structure's own name in messages of plugins.
#define HLOSCOPE_PJRT_ARGS(name, size)                             \
  static constexpr Function kFunction = Function::k##name;         \
  static constexpr std::string_view kName = "PJRT_" #name "_Args"; \
  static constexpr size_t kSize = (size);                          \
  Header header
#define HLOSCOPE_PJRT_STRUCT(name, size)                  \
  static constexpr std::string_view kName = "PJRT_" name; \
  static constexpr size_t kSize = (size);                 \
  Header header

struct ErrorDestroyArgs {
  HLOSCOPE_PJRT_ARGS(Error_Destroy, 24);
  PluginError* error;
};
struct ErrorMessageArgs {
  HLOSCOPE_PJRT_ARGS(Error_Message, 40);
  const PluginError* error;
  const char* message;  // out; the error's own
  size_t message_size;  // out
};
struct ErrorGetCodeArgs {
  HLOSCOPE_PJRT_ARGS(Error_GetCode, 28);
  const PluginError* error;
  int32_t code;  // out
};

struct PluginInitializeArgs {
  HLOSCOPE_PJRT_ARGS(Plugin_Initialize, 16);
};

enum class NamedValueType : int32_t { kString, kInt64, kInt64List, kFloat, kBool };
struct NamedValue {
  HLOSCOPE_PJRT_STRUCT("NamedValue", 56);
  const char* name;
  size_t name_size;
  NamedValueType type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;  // elements of a string or list, else 1
};
static_assert(sizeof(NamedValue) == NamedValue::kSize);

struct PluginAttributesArgs {
  HLOSCOPE_PJRT_ARGS(Plugin_Attributes, 32);
  const NamedValue* attributes;  // out
  size_t num_attributes;         // out
};

struct EventDestroyArgs {
  HLOSCOPE_PJRT_ARGS(Event_Destroy, 24);
  Event* event;
};
struct EventIsReadyArgs {
  HLOSCOPE_PJRT_ARGS(Event_IsReady, 25);
  Event* event;
  bool is_ready;  // out
};
struct EventAwaitArgs {
  HLOSCOPE_PJRT_ARGS(Event_Await, 24);
  Event* event;
};

struct ClientCreateArgs {
  HLOSCOPE_PJRT_ARGS(Client_Create, 88);
  const NamedValue* create_options;
  size_t num_options;
  void* kv_get_callback;
  void* kv_get_user_arg;
  void* kv_put_callback;
  void* kv_put_user_arg;
  Client* client;  // out
  void* kv_try_get_callback;
  void* kv_try_get_user_arg;
};
struct ClientDestroyArgs {
  HLOSCOPE_PJRT_ARGS(Client_Destroy, 24);
  Client* client;
};
struct ClientPlatformNameArgs {
  HLOSCOPE_PJRT_ARGS(Client_PlatformName, 40);
  Client* client;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
struct ClientPlatformVersionArgs {
  HLOSCOPE_PJRT_ARGS(Client_PlatformVersion, 40);
  Client* client;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
struct ClientAddressableDevicesArgs {
  HLOSCOPE_PJRT_ARGS(Client_AddressableDevices, 40);
  Client* client;
  Device* const* addressable_devices;  // out
  size_t num_addressable_devices;      // out
};

struct Program {
  HLOSCOPE_PJRT_STRUCT("Program", 48);
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};
struct ClientCompileArgs {
  HLOSCOPE_PJRT_ARGS(Client_Compile, 56);
  Client* client;
  const Program* program;
  const char* compile_options;  // a serialized CompileOptionsProto
  size_t compile_options_size;
  LoadedExecutable* executable;  // out
};

// Dimensions from the fastest to the slowest, and tiles if any.
struct TiledLayout {
  HLOSCOPE_PJRT_STRUCT("Buffer_MemoryLayout_Tiled", 56);
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};
struct MemoryLayout {
  HLOSCOPE_PJRT_STRUCT("Buffer_MemoryLayout", 76);
  TiledLayout tiled;
  int32_t type;  // 0: tiled
};
static_assert(offsetof(MemoryLayout, type) == 72);

enum class HostBufferSemantics : int32_t { kImmutableOnlyDuringCall = 0, kUntilTransferCompletes };
struct ClientBufferFromHostBufferArgs {
  HLOSCOPE_PJRT_ARGS(Client_BufferFromHostBuffer, 120);
  Client* client;
  const void* data;
  int32_t type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  HostBufferSemantics host_buffer_semantics;
  Device* device;
  Memory* memory;
  MemoryLayout* device_layout;
  Event* done_with_host_buffer;  // out
  Buffer* buffer;                // out
};

struct DeviceDescriptionIdArgs {
  HLOSCOPE_PJRT_ARGS(DeviceDescription_Id, 28);
  DeviceDescription* device_description;
  int32_t id;  // out
};
struct DeviceDescriptionAttributesArgs {
  HLOSCOPE_PJRT_ARGS(DeviceDescription_Attributes, 40);
  DeviceDescription* device_description;
  size_t num_attributes;         // out
  const NamedValue* attributes;  // out
};
struct DeviceDescriptionKindArgs {
  HLOSCOPE_PJRT_ARGS(DeviceDescription_Kind, 40);
  DeviceDescription* device_description;
  const char* device_kind;  // out
  size_t device_kind_size;  // out
};
struct DeviceDescriptionToStringArgs {
  HLOSCOPE_PJRT_ARGS(DeviceDescription_ToString, 40);
  DeviceDescription* device_description;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
struct DeviceGetDescriptionArgs {
  HLOSCOPE_PJRT_ARGS(Device_GetDescription, 32);
  Device* device;
  DeviceDescription* device_description;  // out
};
struct DeviceLocalHardwareIdArgs {
  HLOSCOPE_PJRT_ARGS(Device_LocalHardwareId, 28);
  Device* device;
  int32_t local_hardware_id;  // out
};
struct DeviceMemoryStatsArgs {
  HLOSCOPE_PJRT_ARGS(Device_MemoryStats, 201);
  struct Optional {
    int64_t value;
    bool is_set;
  };
  Device* device;
  int64_t bytes_in_use;  // out, as all that follow
  Optional peak_bytes_in_use;
  Optional num_allocs;
  Optional largest_alloc_size;
  Optional bytes_limit;
  Optional bytes_reserved;
  Optional peak_bytes_reserved;
  Optional bytes_reservable_limit;
  Optional largest_free_block_bytes;
  Optional pool_bytes;
  Optional peak_pool_bytes;
  Optional peak_allocated_bytes;
};

struct ExecutableDestroyArgs {
  HLOSCOPE_PJRT_ARGS(Executable_Destroy, 24);
  Executable* executable;
};
struct ExecutableNumOutputsArgs {
  HLOSCOPE_PJRT_ARGS(Executable_NumOutputs, 32);
  Executable* executable;
  size_t num_outputs;  // out
};
struct ExecutableOptimizedProgramArgs {
  HLOSCOPE_PJRT_ARGS(Executable_OptimizedProgram, 32);
  Executable* executable;
  Program* program;  // in and out: without code only the size is set
};
struct ExecutableOutputElementTypesArgs {
  HLOSCOPE_PJRT_ARGS(Executable_OutputElementTypes, 40);
  Executable* executable;
  const int32_t* output_types;  // out
  size_t num_output_types;      // out
};
struct ExecutableOutputDimensionsArgs {
  HLOSCOPE_PJRT_ARGS(Executable_OutputDimensions, 48);
  Executable* executable;
  size_t num_outputs;       // out
  const int64_t* dims;      // out: of all outputs in a row
  const size_t* dim_sizes;  // out: the rank of each
};
struct ExecutableGetCompiledMemoryStatsArgs {
  HLOSCOPE_PJRT_ARGS(Executable_GetCompiledMemoryStats, 144);
  Executable* executable;
  int64_t generated_code_size_in_bytes;  // out, as all that follow
  int64_t argument_size_in_bytes;
  int64_t output_size_in_bytes;
  int64_t alias_size_in_bytes;
  int64_t temp_size_in_bytes;
  int64_t host_generated_code_size_in_bytes;
  int64_t host_argument_size_in_bytes;
  int64_t host_output_size_in_bytes;
  int64_t host_alias_size_in_bytes;
  int64_t host_temp_size_in_bytes;
  int64_t peak_memory_in_bytes;
  int64_t total_size_in_bytes;
  int64_t total_allocation_bytes;
  int64_t indefinite_allocations;
  int64_t peak_unpadded_heap_bytes;
};

struct LoadedExecutableDestroyArgs {
  HLOSCOPE_PJRT_ARGS(LoadedExecutable_Destroy, 24);
  LoadedExecutable* executable;
};
struct LoadedExecutableGetExecutableArgs {
  HLOSCOPE_PJRT_ARGS(LoadedExecutable_GetExecutable, 32);
  LoadedExecutable* loaded_executable;
  Executable* executable;  // out; to be destroyed by the caller
};
struct LoadedExecutableAddressableDevicesArgs {
  HLOSCOPE_PJRT_ARGS(LoadedExecutable_AddressableDevices, 40);
  LoadedExecutable* executable;
  Device* const* addressable_devices;  // out
  size_t num_addressable_devices;      // out
};

struct ExecuteOptions {
  HLOSCOPE_PJRT_STRUCT("ExecuteOptions", 144);
  void* send_callbacks;
  void* recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int32_t launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  void* context;
  const char* call_location;
  size_t num_tasks;
  int32_t* task_ids;
  int64_t* incarnation_ids;
  void* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  void* hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
};
struct LoadedExecutableExecuteArgs {
  HLOSCOPE_PJRT_ARGS(LoadedExecutable_Execute, 80);
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* argument_lists;  // by device, then by argument
  size_t num_devices;
  size_t num_args;
  Buffer** const* output_lists;    // the outer lists are the caller's; buffers come out
  Event** device_complete_events;  // one for each device; may be null
  Device* execute_device;          // of a portable executable
};

struct BufferDestroyArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_Destroy, 24);
  Buffer* buffer;
};
struct BufferElementTypeArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_ElementType, 28);
  Buffer* buffer;
  int32_t type;  // out
};
struct BufferDimensionsArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_Dimensions, 40);
  Buffer* buffer;
  const int64_t* dims;  // out
  size_t num_dims;      // out
};
struct BufferUnpaddedDimensionsArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_UnpaddedDimensions, 40);
  Buffer* buffer;
  const int64_t* unpadded_dims;  // out
  size_t num_dims;               // out
};
struct BufferDynamicDimensionIndicesArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_DynamicDimensionIndices, 40);
  Buffer* buffer;
  const size_t* dynamic_dim_indices;  // out
  size_t num_dynamic_dims;            // out
};
struct BufferToHostBufferArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_ToHostBuffer, 56);
  Buffer* src;
  MemoryLayout* host_layout;  // null: the device's own, whatever that is
  void* dst;                  // null: only dst_size is set
  size_t dst_size;
  Event* event;  // out
};
struct BufferReadyEventArgs {
  HLOSCOPE_PJRT_ARGS(Buffer_ReadyEvent, 32);
  Buffer* buffer;
  Event* event;  // out
};

struct TopologyDescriptionCreateArgs {
  HLOSCOPE_PJRT_ARGS(TopologyDescription_Create, 56);
  const char* topology_name;
  size_t topology_name_size;
  const NamedValue* create_options;
  size_t num_options;
  Topology* topology;  // out
};
struct TopologyDescriptionDestroyArgs {
  HLOSCOPE_PJRT_ARGS(TopologyDescription_Destroy, 24);
  Topology* topology;
};
struct TopologyDescriptionPlatformNameArgs {
  HLOSCOPE_PJRT_ARGS(TopologyDescription_PlatformName, 40);
  Topology* topology;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
struct TopologyDescriptionGetDeviceDescriptionsArgs {
  HLOSCOPE_PJRT_ARGS(TopologyDescription_GetDeviceDescriptions, 40);
  Topology* topology;
  DeviceDescription* const* descriptions;  // out
  size_t num_descriptions;                 // out
};
struct CompileArgs {
  HLOSCOPE_PJRT_ARGS(Compile, 64);
  const Topology* topology;
  const Program* program;
  const char* compile_options;
  size_t compile_options_size;
  Client* client;          // may be null
  Executable* executable;  // out
};

#undef HLOSCOPE_PJRT_ARGS
#undef HLOSCOPE_PJRT_STRUCT

}  // namespace hloscope::replay::pjrt
