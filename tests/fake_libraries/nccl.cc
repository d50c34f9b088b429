// NCCL's functions that we call, strict about what they are given: what would hang with the real
// one is refused. Work is done where the streams of all that take part have come.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/hlo/float_types.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/nccl_room.h"

extern "C" {
int cuCtxGetDevice(int* device);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
}

namespace {

using fake_libraries::Bytes;
using fake_libraries::Fault;

constexpr int kCudaError = 1, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5,
              kRemoteError = 6;
constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};  // by ncclDataType_t

struct Clique {
  std::vector<int> devices;                              // -1: another process's
  std::shared_ptr<fake_libraries::Room> room = nullptr;  // of ranks in several processes
};
struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device() const { return clique->devices[static_cast<size_t>(rank)]; }
};
enum class Kind { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kSend, kReceive };
struct Call {
  Kind kind;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  int type = 0, op = 0, peer = 0;  // peer: or root
  Communicator* communicator = nullptr;
  void* stream = nullptr;

  size_t bytes() const { return count * kSizes[type]; }
  bool IsLike(const Call& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op &&
           peer == other.peer;
  }
};

std::map<const void*, std::unique_ptr<Communicator>>& All() {
  static auto* const all = new std::map<const void*, std::unique_ptr<Communicator>>;
  return *all;
}
int depth = 0;
std::vector<Call> asked;

template <typename T>
T Combine(int op, T a, T b) {
  switch (op) {
    case 0:
      return static_cast<T>(a + b);
    case 1:
      return static_cast<T>(a * b);
    case 2:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}
// Computed in W and rounded after each step.
template <typename T, typename W = T>
void Fold(int op, std::byte* to, const std::byte* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, to + i * sizeof a, sizeof a);
    std::memcpy(&b, from + i * sizeof b, sizeof b);
    a = T(Combine(op, static_cast<W>(a), static_cast<W>(b)));
    std::memcpy(to + i * sizeof a, &a, sizeof a);
  }
}
void FoldInto(int type, int op, std::byte* to, const std::byte* from, size_t count) {
  constexpr void (*kFolds[])(int, std::byte*, const std::byte*, size_t) = {
      Fold<int8_t>,
      Fold<uint8_t>,
      Fold<int32_t>,
      Fold<uint32_t>,
      Fold<int64_t>,
      Fold<uint64_t>,
      Fold<hloscope::hlo::F16, float>,
      Fold<float>,
      Fold<double>,
      Fold<hloscope::hlo::BF16, float>};
  kFolds[type](op, to, from, count);
}

using Bits = std::vector<std::byte>;

// What a rank reads, and what it gets of what all have sent.
size_t SentBytes(const Call& call, size_t ranks) {
  return call.kind == Kind::kReduceScatter ? call.bytes() * ranks : call.bytes();
}
Bits ResultOf(const Call& call, const std::vector<Bits>& sent, size_t rank) {
  const auto size = static_cast<ptrdiff_t>(call.bytes());
  Bits out;
  switch (call.kind) {
    case Kind::kAllReduce:
    case Kind::kReduceScatter: {
      out = sent[0];
      for (size_t r = 1; r < sent.size(); ++r) {
        FoldInto(call.type, call.op, out.data(), sent[r].data(), out.size() / kSizes[call.type]);
      }
      if (call.kind == Kind::kAllReduce) return out;
      const auto from = out.begin() + static_cast<ptrdiff_t>(rank) * size;
      return Bits(from, from + size);
    }
    case Kind::kAllGather:
      for (const Bits& each : sent) out.insert(out.end(), each.begin(), each.end());
      return out;
    default:
      return sent[static_cast<size_t>(call.peer)];
  }
}

// All members' calls of one collective, by rank.
void Perform(const std::vector<Call>& calls) {
  std::vector<Bits> sent;
  for (const Call& call : calls) {
    const size_t bytes = SentBytes(call, calls.size());
    const std::byte* const from = Bytes(call.from, bytes);
    sent.emplace_back(from, from + bytes);
  }
  for (size_t r = 0; r < calls.size(); ++r) {
    const Bits result = ResultOf(calls[0], sent, r);
    std::memcpy(Bytes(calls[r].to, result.size()), result.data(), result.size());
  }
}

// The same of one rank, the others being in other processes.
void PerformIn(fake_libraries::Room& room, const Call& call, size_t rank, size_t ranks) {
  const std::array<int64_t, 5> what = {static_cast<int64_t>(call.kind),
                                       static_cast<int64_t>(call.count), call.type, call.op,
                                       call.peer};
  std::string own(reinterpret_cast<const char*>(&what), sizeof what);
  const size_t bytes = SentBytes(call, ranks);
  own.append(reinterpret_cast<const char*>(Bytes(call.from, bytes)), bytes);
  const std::vector<std::string> all = room.Exchange(own);
  std::vector<Bits> sent;
  for (const std::string& each : all) {
    const bool is_like = each.size() == own.size() && each.starts_with(own.substr(0, sizeof what));
    if (!is_like) {
      room.failed = kInvalidUsage;
      return;
    }
    const auto* const from = reinterpret_cast<const std::byte*>(each.data()) + sizeof what;
    sent.emplace_back(from, from + bytes);
  }
  if (all.empty()) {
    room.failed = kRemoteError;
    return;
  }
  const Bits result = ResultOf(call, sent, rank);
  std::memcpy(Bytes(call.to, result.size()), result.data(), result.size());
}

// Messages of a group: all are sent before the first is waited for.
void DeliverIn(fake_libraries::Room& room, const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    if (call.kind != Kind::kSend) continue;
    room.Send(call.peer, std::string(reinterpret_cast<const char*>(Bytes(call.from, call.bytes())),
                                     call.bytes()));
  }
  for (const Call& call : calls) {
    if (call.kind != Kind::kReceive) continue;
    const std::string got = room.Receive(call.peer);
    if (got.size() != call.bytes()) {
      room.failed = kRemoteError;
      return;
    }
    std::memcpy(Bytes(call.to, got.size()), got.data(), got.size());
  }
}

int Submit(const std::vector<Call>& calls, const char* name, std::function<void()> work) {
  std::vector<void*> streams;
  for (const Call& call : calls) streams.push_back(call.stream);
  return fake_libraries::SubmitTogether(streams, name, std::move(work)) == 0 ? 0 : kCudaError;
}

// What one rank was asked for, the others being in other processes.
int DoIn(const std::shared_ptr<fake_libraries::Room>& room, const std::vector<Call>& calls) {
  std::vector<Call> messages;
  for (const Call& call : calls) {
    if (call.kind == Kind::kSend || call.kind == Kind::kReceive) {
      messages.push_back(call);
      continue;
    }
    const auto rank = static_cast<size_t>(call.communicator->rank);
    const size_t ranks = call.communicator->clique->devices.size();
    const int answer = fake_libraries::Submit(call.stream, "fake_collective",
                                              [=] { PerformIn(*room, call, rank, ranks); });
    if (answer != 0) return kCudaError;
  }
  if (messages.empty()) return 0;
  const int answer = fake_libraries::Submit(messages[0].stream, "fake_message",
                                            [=] { DeliverIn(*room, messages); });
  return answer == 0 ? 0 : kCudaError;
}

// What one clique was asked for; collectives in their order, and pairs of messages.
int Do(const std::vector<Call>& calls, size_t ranks) {
  std::vector<std::vector<Call>> by_rank(ranks);
  std::map<std::pair<int, int>, std::vector<Call>> sends, receives;
  for (const Call& call : calls) {
    const int rank = call.communicator->rank;
    if (call.kind == Kind::kSend) {
      sends[{rank, call.peer}].push_back(call);
    } else if (call.kind == Kind::kReceive) {
      receives[{call.peer, rank}].push_back(call);
    } else {
      by_rank[static_cast<size_t>(rank)].push_back(call);
    }
  }
  for (size_t i = 0; i < by_rank[0].size() || i < by_rank.back().size(); ++i) {
    std::vector<Call> together;
    for (const auto& own : by_rank) {
      if (own.size() != by_rank[0].size() || !own[i].IsLike(by_rank[0][i])) return kInvalidUsage;
      together.push_back(own[i]);
    }
    const int answer = Submit(together, "fake_collective", [together] { Perform(together); });
    if (answer != 0) return answer;
  }
  for (const auto& own : by_rank) {
    if (own.size() != by_rank[0].size()) return kInvalidUsage;
  }
  if (sends.size() != receives.size()) return kInvalidUsage;
  for (const auto& [pair, sent] : sends) {
    const auto& received = receives[pair];
    if (received.size() != sent.size()) return kInvalidUsage;
    for (size_t i = 0; i < sent.size(); ++i) {
      const size_t bytes = sent[i].bytes();
      if (received[i].bytes() != bytes) return kInvalidUsage;
      const int answer = Submit({received[i], sent[i]}, "fake_message",
                                [to = received[i].to, from = sent[i].from, bytes] {
                                  std::memmove(Bytes(to, bytes), Bytes(from, bytes), bytes);
                                });
      if (answer != 0) return answer;
    }
  }
  return 0;
}

// Memory of the communicator's own device.
bool IsThere(const Communicator& own, const void* address, size_t bytes) {
  return bytes == 0 ||
         (Bytes(address, bytes) != nullptr &&
          fake_cuda_memory_device(reinterpret_cast<uint64_t>(address)) == own.device());
}

int Ask(const char* function, Call call, void* communicator) {
  if (const int fault = Fault(function); fault != 0) return fault;
  const auto known = All().find(communicator);
  if (known == All().end()) return kInvalidArgument;
  call.communicator = known->second.get();
  const Communicator& own = *call.communicator;
  const size_t ranks = own.clique->devices.size();
  if (call.type < 0 || call.type >= static_cast<int>(std::size(kSizes)) || call.op < 0 ||
      call.op > 3 || call.peer < 0 || call.peer >= static_cast<int>(ranks)) {
    return kInvalidArgument;
  }
  if (depth == 0 && ranks > 1) return kInvalidUsage;
  if (fake_cuda_stream_device(call.stream) != own.device()) return kInvalidArgument;
  const size_t bytes = call.bytes();
  const bool reads = call.kind != Kind::kReceive, writes = call.kind != Kind::kSend;
  if ((reads &&
       !IsThere(own, call.from, call.kind == Kind::kReduceScatter ? bytes * ranks : bytes)) ||
      (writes && !IsThere(own, call.to, call.kind == Kind::kAllGather ? bytes * ranks : bytes))) {
    return kInvalidArgument;
  }
  if (depth == 0) return Do({call}, 1);
  asked.push_back(call);
  return 0;
}

int GiveBack(const char* function, void* communicator) {
  const int fault = Fault(function);
  const auto known = All().find(communicator);
  if (known == All().end()) return kInvalidArgument;
  cuDevicePrimaryCtxRelease_v2(known->second->device());
  if (const auto& room = known->second->clique->room; room != nullptr) room->Leave();
  All().erase(known);
  return fault;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  if (const int fault = Fault("ncclGetVersion"); fault != 0) return fault;
  *version = fake_libraries::Property("nccl.version", 22809);
  return 0;
}
int ncclCommInitAll(void** communicators, int count, const int* devices) {
  if (const int fault = Fault("ncclCommInitAll"); fault != 0) return fault;
  if (count < 1 || devices == nullptr || depth > 0) return kInvalidArgument;
  auto clique = std::make_shared<Clique>();
  clique->devices.assign(devices, devices + count);
  const std::set<int> distinct(devices, devices + count);
  if (std::cmp_not_equal(distinct.size(), count)) return kInvalidUsage;
  for (int r = 0; r < count; ++r) {
    void* context = nullptr;
    if (cuDevicePrimaryCtxRetain(&context, devices[r]) != 0) {
      while (--r >= 0) GiveBack("", communicators[r]);
      return kCudaError;
    }
    auto made = std::make_unique<Communicator>(Communicator{clique, r});
    communicators[r] = made.get();
    All()[communicators[r]] = std::move(made);
  }
  return 0;
}
struct Name {
  std::array<char, 128> bytes;
};
int ncclGetUniqueId(Name* name) {
  if (const int fault = Fault("ncclGetUniqueId"); fault != 0) return fault;
  const std::string folder = fake_libraries::Room::Make();
  if (folder.empty() || folder.size() >= name->bytes.size()) return kSystemError;
  name->bytes.fill(0);
  std::ranges::copy(folder, name->bytes.begin());
  return 0;
}
int ncclCommInitRank(void** communicator, int ranks, Name name, int rank) {
  if (const int fault = Fault("ncclCommInitRank"); fault != 0) return fault;
  int device = 0;
  if (cuCtxGetDevice(&device) != 0) return kCudaError;
  if (ranks < 1 || rank < 0 || rank >= ranks || depth > 0 || name.bytes.back() != 0) {
    return kInvalidArgument;
  }
  auto clique = std::make_shared<Clique>();
  clique->devices.assign(static_cast<size_t>(ranks), -1);
  clique->devices[static_cast<size_t>(rank)] = device;
  clique->room = std::make_shared<fake_libraries::Room>(name.bytes.data(), rank, ranks);
  // It returns when all have come.
  if (clique->room->Exchange("here").empty()) return kRemoteError;
  void* context = nullptr;
  if (cuDevicePrimaryCtxRetain(&context, device) != 0) return kCudaError;
  auto made = std::make_unique<Communicator>(Communicator{clique, rank});
  *communicator = made.get();
  All()[*communicator] = std::move(made);
  return 0;
}
int ncclCommDestroy(void* communicator) { return GiveBack("ncclCommDestroy", communicator); }
int ncclCommAbort(void* communicator) { return GiveBack("ncclCommAbort", communicator); }
int ncclCommGetAsyncError(void* communicator, int* error) {
  if (const int fault = Fault("ncclCommGetAsyncError"); fault != 0) return fault;
  const auto known = All().find(communicator);
  if (known == All().end()) return kInvalidArgument;
  const bool is_it = known->second->rank == fake_libraries::Property("nccl.rank", 0);
  if (const auto& room = known->second->clique->room; room != nullptr && room->failed != 0) {
    *error = room->failed;
    return 0;
  }
  *error = is_it ? fake_libraries::Property("nccl.asynchronous", 0) : 0;
  return 0;
}
int ncclGroupStart() {
  if (const int fault = Fault("ncclGroupStart"); fault != 0) return fault;
  ++depth;
  return 0;
}
int ncclGroupEnd() {
  if (depth == 0) return kInvalidUsage;
  if (--depth > 0) return 0;
  std::vector<Call> calls;
  std::swap(calls, asked);
  if (const int fault = Fault("ncclGroupEnd"); fault != 0) return fault;
  std::map<const Clique*, std::vector<Call>> cliques;
  for (const Call& call : calls) cliques[call.communicator->clique.get()].push_back(call);
  for (const auto& [clique, own] : cliques) {
    const int answer =
        clique->room != nullptr ? DoIn(clique->room, own) : Do(own, clique->devices.size());
    if (answer != 0) return answer;
  }
  return 0;
}
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* communicator,
                  void* stream) {
  return Ask("ncclAllReduce", {Kind::kAllReduce, from, to, count, type, op, 0, nullptr, stream},
             communicator);
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op,
                      void* communicator, void* stream) {
  return Ask("ncclReduceScatter",
             {Kind::kReduceScatter, from, to, count, type, op, 0, nullptr, stream}, communicator);
}
int ncclAllGather(const void* from, void* to, size_t count, int type, void* communicator,
                  void* stream) {
  return Ask("ncclAllGather", {Kind::kAllGather, from, to, count, type, 0, 0, nullptr, stream},
             communicator);
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* communicator,
                  void* stream) {
  return Ask("ncclBroadcast", {Kind::kBroadcast, from, to, count, type, 0, root, nullptr, stream},
             communicator);
}
int ncclSend(const void* from, size_t count, int type, int peer, void* communicator, void* stream) {
  return Ask("ncclSend", {Kind::kSend, from, nullptr, count, type, 0, peer, nullptr, stream},
             communicator);
}
int ncclRecv(void* to, size_t count, int type, int peer, void* communicator, void* stream) {
  return Ask("ncclRecv", {Kind::kReceive, nullptr, to, count, type, 0, peer, nullptr, stream},
             communicator);
}

}  // extern "C"
