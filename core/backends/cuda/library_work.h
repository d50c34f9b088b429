// LibraryWork: what one of NVIDIA's libraries does in place of a kernel of ours.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backends/cuda/device.h"
#include "core/backends/cuda/library_sizes.h"
#include "core/backends/libraries/library.h"
#include "core/hlo/module.h"

namespace hloscope::replay::cuda {

using libraries::Library;

// A way that a library proposes.
struct AlgorithmCandidate {
  std::string name;     // the same for the same version on the same device
  std::string refused;  // why it is none after all; empty: it is
};

// Made for one instruction. Any thread may call it.
class LibraryWork {
 public:
  virtual ~LibraryWork() = default;
  // All that there are, the library's favourite first; `taken`: which of them this is.
  virtual std::vector<AlgorithmCandidate> proposals() const { return {{"its only way", {}}}; }
  virtual size_t taken() const { return 0; }
  virtual int64_t scratch_bytes() const { return 0; }
  // Whether it only puts work on the stream, so that a CUDA graph can be made of it.
  virtual bool can_be_recorded() const { return true; }
  // Puts it on the stream; `addresses`: of operands, results, scratch. Errors: unsupported where
  // the library refuses, in its words; others are of the device.
  virtual Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const = 0;
};

// What a library is made for an instruction with; the device is the thread's.
struct AlgorithmRequest {
  const hlo::Module& module;
  hlo::InstructionId id;
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Library> library;
};

struct AlgorithmCandidates {
  // Types, sizes, strides, attributes: all that decides how long each way takes. Empty: there is
  // nothing to choose but by the rule.
  std::string form;
  std::string why_ours;  // a rule says that a kernel of ours is better; empty: none does
  // By the proposal of that name, or the favourite of those that are not refused (empty). Errors:
  // the library's refusal (unsupported).
  std::function<Result<std::shared_ptr<const LibraryWork>>(std::string_view way)> make;
};

// Unsupported errors: why a library cannot do it.
using LibraryMaker = Result<AlgorithmCandidates> (*)(const AlgorithmRequest& order);
Result<AlgorithmCandidates> OfferProduct(const AlgorithmRequest& order);
Result<AlgorithmCandidates> OfferConvolution(const AlgorithmRequest& order);
Result<AlgorithmCandidates> OfferTransform(const AlgorithmRequest& order);
Result<AlgorithmCandidates> OfferFactor(const AlgorithmRequest& order);
Result<AlgorithmCandidates> OfferSolve(const AlgorithmRequest& order);
// Custom calls that compile::FactorCallOf knows.
Result<AlgorithmCandidates> OfferFactorCall(const AlgorithmRequest& order);

// cudaDataType of what cuSOLVER factors.
int SolverTypeOf(hlo::ElementType type);
// Unsupported where matrices of that side, and so many of them, are better off with our own kernel.
Status CheckSolverSizes(int64_t side, int64_t matrices);

// What a rule says of small instructions.
inline constexpr const char* kTooSmall = "so small that a call is not worth it";

// Something of a library's, given back by one of its functions. Moved, not copied.
class LibraryHandle {
 public:
  using GiveBack = int (*)(void*);
  LibraryHandle() = default;
  LibraryHandle(std::shared_ptr<const Device> device, void* handle, GiveBack give_back)
      : device_(std::move(device)), handle_(handle), give_back_(give_back) {}
  LibraryHandle(LibraryHandle&& other) noexcept { *this = std::move(other); }
  LibraryHandle& operator=(LibraryHandle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(give_back_, other.give_back_);
    return *this;
  }
  ~LibraryHandle() {
    if (handle_ == nullptr) return;
    device_->Enter();
    give_back_(handle_);
  }
  void* get() const { return handle_; }

 private:
  std::shared_ptr<const Device> device_;
  void* handle_ = nullptr;
  GiveBack give_back_ = nullptr;
};

// The handle of a library, one for a device as long as something uses it: making one takes long and
// keeps memory. What is set on it holds for the next call, so both are made under its lock.
class SharedHandle {
 public:
  using Create = int (*)(void**);
  // The device is the thread's. Unsupported error: the library refuses.
  static Result<std::shared_ptr<const SharedHandle>> Of(
      const std::shared_ptr<const Device>& device, const std::shared_ptr<const Library>& library,
      Create create, LibraryHandle::GiveBack give_back);
  void* get() const { return handle_.get(); }
  std::mutex& mutex() const { return mutex_; }

 private:
  explicit SharedHandle(LibraryHandle handle) : handle_(std::move(handle)) {}
  LibraryHandle handle_;
  mutable std::mutex mutex_;
};

// The one that is asked for, or the first that is not refused; an unsupported error where it is not
// there, or none is left.
Result<size_t> TakeCandidate(const Library& library, std::span<const AlgorithmCandidate> proposals,
                             std::string_view way);

// Memory that a library works in begins at a multiple of so many bytes: none asks for more.
inline constexpr Address kWorkspaceAlignment = 256;
inline Address AlignedWorkspace(Address address) {
  return (address + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

// Why a library does not do it, with the fix.
inline std::string ReasonOf(const Error& error) {
  return error.hint.empty() ? error.message
                            : fmt::format("{} (fix: {})", error.message, error.hint);
}

inline void* Pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace hloscope::replay::cuda
