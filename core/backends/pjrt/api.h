// Plugin: a PJRT plugin loaded into this process, and how its functions are called.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/backends/pjrt/c_api.h"
#include "core/base/result.h"

namespace hloscope::replay::pjrt {

// A structure for a plugin, all zero, with room behind it for fields that only a newer plugin has.
template <typename T>
class Block {
 public:
  static constexpr size_t kRoom = 256;
  static_assert(std::is_trivially_copyable_v<T>);

  Block() { std::memset(static_cast<void*>(this), 0, sizeof(*this)); }
  T* operator->() { return &fields_; }
  T* get() { return &fields_; }
  Header& header() { return fields_.header; }

 private:
  T fields_;
  std::array<std::byte, kRoom> newer_;
};

struct Extension {
  int32_t type = 0;
  size_t size = 0;
  const ExtensionHead* head = nullptr;
};
constexpr int32_t kProfilerExtension = 1;

class Plugin {
 public:
  const std::string& path() const { return path_; }
  int major_version() const { return head().major; }
  int minor_version() const { return head().minor; }
  size_t table_size() const { return head().header.struct_size; }
  // "xla_version" "2", "stablehlo_current_version" "1.14.0" …, in the plugin's order.
  const std::vector<std::pair<std::string, std::string>>& attributes() const { return attributes_; }
  const std::vector<Extension>& extensions() const { return extensions_; }
  bool HasExtension(int32_t type) const;
  // False where the table is too short for the function or has none.
  bool Has(Function function) const;

  // Calls the function that takes T. `inner` are the structures that `args` points to. Their sizes
  // are filled in; where the plugin expects another size of one (older and strict, or newer) and
  // says so, the call is repeated with that. Errors: the plugin's own, in its words (see
  // ErrorClassOf); unsupported where it lacks the function.
  template <typename T, typename... Inner>
  Status Call(Block<T>& args, Block<Inner>&... inner) const {
    const std::array<Named, 1 + sizeof...(Inner)> blocks = {
        Named{T::kName, T::kSize, sizeof(T) + Block<T>::kRoom, &args.header()},
        Named{Inner::kName, Inner::kSize, sizeof(Inner) + Block<Inner>::kRoom, &inner.header()}...};
    return CallWith(T::kFunction, T::kName, blocks);
  }
  // Waits for an event and destroys it; null is over already.
  Status Await(Event* event) const;
  // Takes an error of the plugin's apart and destroys it.
  Error Explain(PluginError* error) const;

 private:
  friend Result<std::shared_ptr<const Plugin>> OpenPlugin(const std::string& path);
  struct Named {
    std::string_view name;
    size_t size = 0, room = 0;
    Header* header = nullptr;
  };
  using Entry = PluginError* (*)(void*);

  Plugin(std::string path, const void* table) : path_(std::move(path)), table_(table) {}
  const ApiHead& head() const { return *static_cast<const ApiHead*>(table_); }
  Entry EntryOf(Function function) const;
  Status CheckVersion() const;
  Status Initialize();
  void ReadExtensions();
  void ReadAttributes();
  Status CallWith(Function function, std::string_view name, std::span<const Named> blocks) const;
  std::string path_;
  const void* table_;
  std::vector<Extension> extensions_;
  std::vector<std::pair<std::string, std::string>> attributes_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, size_t, std::less<>> sizes_;  // where not the usual ones
};

// Loads the plugin at `path`, or gives the one loaded before; it stays loaded until the process
// ends. Running its code is not safe: do this in a worker. Environment errors say what is wrong: no
// such file, a library it needs is missing, no plugin at all, a version that cannot be spoken to.
Result<std::shared_ptr<const Plugin>> OpenPlugin(const std::string& path);

// Who has to act on an error with this status code (those of absl): 12 and 5, not found, are
// unsupported; 8, no resources, and 14, unavailable, are the environment's; 13 is internal to the
// plugin; else input.
ErrorClass ErrorClassOf(int code);
// What XLA says of a flag it does not know, which is an input error whatever the code.
inline constexpr std::string_view kUnknownFlag = "No such compile option";

// "4", "1.2.3", "true", the text itself.
std::string ToString(const NamedValue& value);

// A thing of the plugin's that is destroyed with its function when the owner goes.
template <typename Args, auto field>
class Owned {
 public:
  using Thing =
      std::remove_pointer_t<std::remove_reference_t<decltype(std::declval<Args>().*field)>>;
  Owned() = default;
  Owned(std::shared_ptr<const Plugin> plugin, Thing* thing)
      : plugin_(std::move(plugin)), thing_(thing) {}
  Owned(Owned&& other) noexcept
      : plugin_(std::move(other.plugin_)), thing_(std::exchange(other.thing_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      Reset();
      plugin_ = std::move(other.plugin_);
      thing_ = std::exchange(other.thing_, nullptr);
    }
    return *this;
  }
  ~Owned() { Reset(); }
  Thing* get() const { return thing_; }
  // The plugin has taken it.
  Thing* Release() { return std::exchange(thing_, nullptr); }
  void Reset() {
    if (thing_ == nullptr) return;
    Block<Args> args;
    args.get()->*field = std::exchange(thing_, nullptr);
    (void)plugin_->Call(args);
  }

 private:
  std::shared_ptr<const Plugin> plugin_;
  Thing* thing_ = nullptr;
};
using OwnedClient = Owned<ClientDestroyArgs, &ClientDestroyArgs::client>;
using OwnedBuffer = Owned<BufferDestroyArgs, &BufferDestroyArgs::buffer>;
using OwnedExecutable = Owned<ExecutableDestroyArgs, &ExecutableDestroyArgs::executable>;
using OwnedLoadedExecutable =
    Owned<LoadedExecutableDestroyArgs, &LoadedExecutableDestroyArgs::executable>;
using OwnedTopology =
    Owned<TopologyDescriptionDestroyArgs, &TopologyDescriptionDestroyArgs::topology>;

}  // namespace hloscope::replay::pjrt
