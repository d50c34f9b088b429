// Loading a PJRT plugin, agreeing on structure sizes, and errors as values.
#include "core/backends/pjrt/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace hloscope::replay::pjrt {
namespace {

constexpr int kMajor = 0;
constexpr int kOldestMinor = 29;  // older ones lack what a client needs
constexpr size_t kMaxExtensions = 1000;

// Every structure is as long as the interface says, up to the padding at its end.
template <typename... T>
constexpr bool kAsLongAsStated = ((sizeof(T) == (T::kSize + 7) / 8 * 8) && ...);
static_assert(
    kAsLongAsStated<
        ErrorDestroyArgs, ErrorMessageArgs, ErrorGetCodeArgs, PluginInitializeArgs, NamedValue,
        PluginAttributesArgs, EventDestroyArgs, EventIsReadyArgs, EventAwaitArgs, ClientCreateArgs,
        ClientDestroyArgs, ClientPlatformNameArgs, ClientPlatformVersionArgs,
        ClientAddressableDevicesArgs, Program, ClientCompileArgs, TiledLayout, MemoryLayout,
        ClientBufferFromHostBufferArgs, DeviceDescriptionIdArgs, DeviceDescriptionAttributesArgs,
        DeviceDescriptionKindArgs, DeviceDescriptionToStringArgs, DeviceGetDescriptionArgs,
        DeviceLocalHardwareIdArgs, DeviceMemoryStatsArgs, ExecutableDestroyArgs,
        ExecutableNumOutputsArgs, ExecutableOptimizedProgramArgs, ExecutableOutputElementTypesArgs,
        ExecutableOutputDimensionsArgs, ExecutableGetCompiledMemoryStatsArgs,
        LoadedExecutableDestroyArgs, LoadedExecutableGetExecutableArgs,
        LoadedExecutableAddressableDevicesArgs, ExecuteOptions, LoadedExecutableExecuteArgs,
        BufferDestroyArgs, BufferElementTypeArgs, BufferDimensionsArgs,
        BufferUnpaddedDimensionsArgs, BufferDynamicDimensionIndicesArgs, BufferToHostBufferArgs,
        BufferReadyEventArgs, TopologyDescriptionCreateArgs, TopologyDescriptionDestroyArgs,
        TopologyDescriptionPlatformNameArgs, TopologyDescriptionGetDeviceDescriptionsArgs,
        CompileArgs>);

// The number behind `word` in `text`.
std::optional<size_t> NumberAfter(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  size_t number = 0;
  const char* begin = text.data() + at + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end == begin) return std::nullopt;
  return number;
}

Error Environment(std::string message, std::string hint) {
  return Error{ErrorClass::kEnvironment, std::move(message), {}, std::move(hint)};
}

// What the loader's message means.
Error WhyNotLoaded(const std::string& path, std::string_view message) {
  constexpr std::string_view kMissing = ": cannot open shared object file";
  const size_t missing = message.find(kMissing);
  if (missing != std::string_view::npos && !message.starts_with(path)) {
    return Environment(fmt::format("{}: needs the library {}, which is not found", path,
                                   message.substr(0, missing)),
                       "install it, or add its folder to LD_LIBRARY_PATH");
  }
  for (std::string_view sign : {"invalid ELF header", "file too short", "wrong ELF class",
                                "cannot read file data", "only ET_DYN"}) {
    if (message.find(sign) == std::string_view::npos) continue;
    return Environment(fmt::format("{}: not a shared library for this machine", path),
                       "give the .so file of a PJRT plugin");
  }
  return Environment(fmt::format("cannot load {}: {}", path, message), "");
}

// XLA appends where in its sources an error was made, and a stack.
std::string WithoutTrace(std::string_view message) {
  for (std::string_view mark : {"=== Source Location Trace", "*** Begin stack trace"}) {
    message = message.substr(0, message.find(mark));
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) {
    message.remove_suffix(1);
  }
  return std::string(message);
}

}  // namespace

ErrorClass ErrorClassOf(int code) {
  switch (code) {
    case 5:   // not found: a function that the plugin does not have
    case 12:  // unimplemented
      return ErrorClass::kUnsupported;
    case 8:   // resource exhausted
    case 14:  // unavailable
      return ErrorClass::kEnvironment;
    case 13:
      return ErrorClass::kInternal;
    default:
      return ErrorClass::kInput;
  }
}

std::string ToString(const NamedValue& value) {
  switch (value.type) {
    case NamedValueType::kString:
      return {value.string_value, value.value_size};
    case NamedValueType::kInt64:
      return fmt::format("{}", value.int64_value);
    case NamedValueType::kInt64List: {
      std::string text;
      for (size_t i = 0; i < value.value_size; ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : ".", value.int64_array_value[i]);
      }
      return text;
    }
    case NamedValueType::kFloat:
      return fmt::format("{}", value.float_value);
    case NamedValueType::kBool:
      return value.bool_value ? "true" : "false";
  }
  return {};
}

bool Plugin::Has(Function function) const { return EntryOf(function) != nullptr; }

bool Plugin::HasExtension(int32_t type) const {
  return std::ranges::any_of(extensions_, [&](const Extension& e) { return e.type == type; });
}

Plugin::Entry Plugin::EntryOf(Function function) const {
  const auto offset = static_cast<size_t>(function);
  if (offset + sizeof(Entry) > table_size()) return nullptr;
  Entry entry = nullptr;
  std::memcpy(static_cast<void*>(&entry), static_cast<const std::byte*>(table_) + offset,
              sizeof(entry));
  return entry;
}

Error Plugin::Explain(PluginError* error) const {
  Error result{ErrorClass::kInternal, "the plugin gives no message", {}, {}};
  if (const Entry message = EntryOf(Function::kError_Message)) {
    Block<ErrorMessageArgs> args;
    args.header().struct_size = ErrorMessageArgs::kSize;
    args->error = error;
    message(args.get());
    if (args->message != nullptr) {
      result.message = WithoutTrace({args->message, args->message_size});
    }
  }
  if (const Entry code = EntryOf(Function::kError_GetCode)) {
    Block<ErrorGetCodeArgs> args;
    args.header().struct_size = ErrorGetCodeArgs::kSize;
    args->error = error;
    if (code(args.get()) == nullptr) result.error_class = ErrorClassOf(args->code);
  }
  if (result.message.find(kUnknownFlag) != std::string::npos) {
    result.error_class = ErrorClass::kInput;
    result.message.insert(0, "XLA refuses a flag: ");
    result.hint =
        "this XLA does not know the flag: leave it out, or name a plugin of another version";
  }
  if (const Entry destroy = EntryOf(Function::kError_Destroy)) {
    Block<ErrorDestroyArgs> args;
    args.header().struct_size = ErrorDestroyArgs::kSize;
    args->error = error;
    destroy(args.get());
  }
  return result;
}

// A plugin that knows another size of a structure says "Unexpected NAME size: expected N, got M".
Status Plugin::CallWith(Function function, std::string_view name,
                        std::span<const Named> blocks) const {
  const Entry entry = EntryOf(function);
  if (entry == nullptr) {
    return UnsupportedError(
        fmt::format("{}: the plugin does not provide {}", path_, name),
        fmt::format("it implements version {}.{} of the interface; install a newer one",
                    major_version(), minor_version()));
  }
  for (int attempt = 0;; ++attempt) {
    for (const Named& block : blocks) {
      const std::scoped_lock lock(mutex_);
      const auto agreed = sizes_.find(block.name);
      block.header->struct_size = agreed == sizes_.end() ? block.size : agreed->second;
    }
    PluginError* error = entry(blocks[0].header);
    if (error == nullptr) return {};
    Error explained = Explain(error);
    const auto expected = NumberAfter(explained.message, "size: expected ");
    const auto about = std::ranges::find_if(blocks, [&](const Named& block) {
      return explained.message.find(fmt::format("{} size: expected ", block.name)) !=
             std::string::npos;
    });
    const bool can_agree = expected && about != blocks.end() && *expected >= sizeof(Header) &&
                           *expected <= about->room && *expected != about->header->struct_size;
    if (!can_agree || attempt == 4) return std::unexpected(std::move(explained));
    const std::scoped_lock lock(mutex_);
    sizes_.insert_or_assign(std::string(about->name), *expected);
  }
}

Status Plugin::Await(Event* event) const {
  if (event == nullptr) return {};
  Block<EventAwaitArgs> await;
  await->event = event;
  Status status = Call(await);
  Block<EventDestroyArgs> destroy;
  destroy->event = event;
  (void)Call(destroy);
  return status;
}

Status Plugin::CheckVersion() const {
  const std::string speaks = fmt::format("{}: implements version {}.{} of the PJRT interface",
                                         path_, major_version(), minor_version());
  if (major_version() != kMajor) {
    return EnvironmentError(fmt::format("{}, this build needs {}.x", speaks, kMajor),
                            "install a plugin of that major version, or a newer hloscope");
  }
  if (minor_version() < kOldestMinor ||
      table_size() < static_cast<size_t>(Function::kBuffer_ReadyEvent) + sizeof(void*)) {
    return EnvironmentError(
        fmt::format("{}, at least {}.{} is needed", speaks, kMajor, kOldestMinor),
        "install a newer plugin");
  }
  return {};
}

void Plugin::ReadExtensions() {
  const auto* next = static_cast<const ExtensionHead*>(head().header.extension_start);
  for (; next != nullptr && extensions_.size() < kMaxExtensions; next = next->next) {
    extensions_.push_back({next->type, next->struct_size, next});
  }
}

void Plugin::ReadAttributes() {
  Block<PluginAttributesArgs> args;
  if (!Call(args).has_value()) return;  // it need not have any
  for (size_t i = 0; i < args->num_attributes; ++i) {
    const NamedValue& value = args->attributes[i];
    attributes_.emplace_back(std::string(value.name, value.name_size), ToString(value));
  }
}

Status Plugin::Initialize() {
  if (!Has(Function::kPlugin_Initialize)) return {};
  Block<PluginInitializeArgs> args;
  Status status = Call(args);
  if (status.has_value()) return {};
  return EnvironmentError(
      fmt::format("{}: cannot be initialised: {}", path_, status.error().message));
}

Result<std::shared_ptr<const Plugin>> OpenPlugin(const std::string& path) {
  static std::mutex mutex;
  // Never destroyed: at exit the static objects of a plugin may be gone first.
  static auto& open = *new std::map<std::string, std::shared_ptr<const Plugin>>;
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::canonical(path, code);
  if (code) {
    return EnvironmentError(fmt::format("{}: no such plugin: {}", path, code.message()),
                            "`hloscope doctor` lists the plugins");
  }
  const std::scoped_lock lock(mutex);
  const auto known = open.find(whole.string());
  if (known != open.end()) return known->second;
  void* library = dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* message = dlerror();
    return std::unexpected(WhyNotLoaded(whole.string(), message == nullptr ? "" : message));
  }
  using GetTable = const void* (*)();
  const auto get = reinterpret_cast<GetTable>(dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    return EnvironmentError(fmt::format("{}: not a PJRT plugin: it has no GetPjrtApi", path),
                            "give the .so file of a PJRT plugin");
  }
  const void* table = get();
  if (table == nullptr) {
    return EnvironmentError(fmt::format("{}: GetPjrtApi returns null", path));
  }
  std::shared_ptr<Plugin> plugin(new Plugin(path, table));
  HLOSCOPE_TRY(plugin->CheckVersion());
  HLOSCOPE_TRY(plugin->Initialize());
  plugin->ReadExtensions();
  plugin->ReadAttributes();
  open.emplace(whole.string(), plugin);
  return plugin;
}

}  // namespace hloscope::replay::pjrt
