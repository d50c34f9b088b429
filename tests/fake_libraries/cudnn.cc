// cuDNN's functions that we call, strict about what they are given: a graph of one convolution, by
// sums in f64. Of the engines that are proposed the first is not deterministic.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/numbers.h"

namespace {

using fake_libraries::Bytes;
using fake_libraries::Fault;
using fake_libraries::Handles;
using fake_libraries::Number;

constexpr int kNotInitialized = 1001, kBadParam = 2000, kNotFinalized = 2004, kNotLayout = 3004,
              kExecutionFailed = 5000;
constexpr int64_t kWork = 3000;
constexpr int kNoteNotDeterministic = 4, kModeBest = 3;

Handles& All() {
  static Handles* const all = new Handles;
  return *all;
}
struct Dnn {
  void* stream = nullptr;
};
struct Descriptor {
  explicit Descriptor(int of) : kind(of) {}
  int kind;
  bool is_finished = false;
  std::map<int, std::vector<std::byte>> attributes;
  Descriptor* graph = nullptr;  // of a configuration
  int engine = 0;               // of a configuration or an engine

  template <typename T>
  std::vector<T> Get(int name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> out(found->second.size() / sizeof(T));
    std::memcpy(out.data(), found->second.data(), out.size() * sizeof(T));
    return out;
  }
  Descriptor* Of(int name) const {
    const auto all = Get<Descriptor*>(name);
    return all.empty() || !All().Has(all[0]) ? nullptr : all[0];
  }
};
Descriptor* Find(void* handle) {
  return All().Has(handle) ? static_cast<Descriptor*>(handle) : nullptr;
}

size_t SizeOfAttribute(int type) {
  switch (type) {
    case 1:  // a data type, modes, notes
    case 7:
    case 8:
    case 11:
    case 4:  // float
      return 4;
    default:
      return 8;
  }
}

struct Tensor {
  int type = 0;
  std::vector<int64_t> sizes, strides;
  int64_t uid = 0;

  explicit Tensor(const Descriptor& of)
      : type(NumberType(of.Get<int32_t>(901).at(0))),
        sizes(of.Get<int64_t>(902)),
        strides(of.Get<int64_t>(903)),
        uid(of.Get<int64_t>(906).at(0)) {}
  static int NumberType(int dnn) {
    return dnn == 1   ? fake_libraries::kR64
           : dnn == 2 ? fake_libraries::kR16
           : dnn == 9 ? fake_libraries::kBf16
                      : fake_libraries::kR32;
  }
  int64_t Elements() const {
    int64_t last = 1;
    for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    return last;
  }
  bool IsDense(bool features_last) const {
    int64_t stride = 1;
    const auto fits = [&](size_t d) {
      const bool is_right = sizes[d] == 1 || strides[d] == stride;
      stride *= sizes[d];
      return is_right;
    };
    bool is_dense = !features_last || fits(1);
    for (size_t d = sizes.size(); d-- > 2;) is_dense &= fits(d);
    return is_dense && (features_last || fits(1)) && fits(0);
  }
};

struct Convolution {
  Tensor x, w, y;
  std::vector<int64_t> strides, dilations, low, high;

  static Convolution Of(const Descriptor& graph) {
    const Descriptor& operation = *graph.Of(801);
    const Descriptor& window = *operation.Of(702);
    return {Tensor(*operation.Of(704)), Tensor(*operation.Of(703)), Tensor(*operation.Of(705)),
            window.Get<int64_t>(103),   window.Get<int64_t>(102),   window.Get<int64_t>(105),
            window.Get<int64_t>(104)};
  }

  bool IsSound() const {
    const size_t space = strides.size();
    if (x.sizes.size() != space + 2 || w.sizes.size() != space + 2 || y.sizes.size() != space + 2) {
      return false;
    }
    for (size_t d = 0; d < space; ++d) {
      const int64_t reach = (w.sizes[d + 2] - 1) * dilations[d] + 1;
      if (y.sizes[d + 2] != (x.sizes[d + 2] + low[d] + high[d] - reach) / strides[d] + 1) {
        return false;
      }
    }
    return x.sizes[0] == y.sizes[0] && w.sizes[0] == y.sizes[1] && x.sizes[1] % w.sizes[1] == 0;
  }
  bool HasKnownLayout() const {
    const bool features_last = x.strides[1] == 1;
    return x.IsDense(features_last) && w.IsDense(features_last) && y.IsDense(features_last);
  }

  void Run(const std::byte* in, const std::byte* filter, std::byte* out) const {
    const size_t size = fake_libraries::SizeOf(x.type);
    const auto groups = x.sizes[1] / w.sizes[1], per_group = w.sizes[0] / groups;
    std::vector<int64_t> at(y.sizes.size(), 0);
    const auto next = [](std::vector<int64_t>& index, const std::vector<int64_t>& sizes,
                         size_t from) {
      for (size_t d = sizes.size(); d-- > from;) {
        if (++index[d] < sizes[d]) return true;
        index[d] = 0;
      }
      return false;
    };
    do {
      Number sum = 0;
      std::vector<int64_t> tap(w.sizes.size(), 0);
      do {
        int64_t from =
            at[0] * x.strides[0] + (at[1] / per_group * w.sizes[1] + tap[1]) * x.strides[1];
        int64_t by = at[1] * w.strides[0] + tap[1] * w.strides[1];
        bool is_in = true;
        for (size_t d = 2; d < at.size(); ++d) {
          const int64_t place = at[d] * strides[d - 2] + tap[d] * dilations[d - 2] - low[d - 2];
          is_in &= place >= 0 && place < x.sizes[d];
          from += place * x.strides[d];
          by += tap[d] * w.strides[d];
        }
        if (!is_in) continue;
        sum += fake_libraries::Read(x.type, in + static_cast<size_t>(from) * size) *
               fake_libraries::Read(w.type, filter + static_cast<size_t>(by) * size);
      } while (next(tap, w.sizes, 1));
      int64_t to = 0;
      for (size_t d = 0; d < at.size(); ++d) to += at[d] * y.strides[d];
      fake_libraries::Write(y.type, sum, out + static_cast<size_t>(to) * size);
    } while (next(at, y.sizes, 0));
  }
};

}  // namespace

extern "C" {

int cudnnGetProperty(int part, int* value) {
  if (const int fault = Fault("cudnnGetProperty"); fault != 0) return fault;
  *value = part == 0 ? fake_libraries::Property("cudnn.major", 9) : 0;
  return 0;
}
int cudnnCreate(void** handle) {
  if (const int fault = Fault("cudnnCreate"); fault != 0) return fault;
  *handle = All().Add(new Dnn);
  return 0;
}
int cudnnDestroy(void* handle) {
  if (!All().Remove(handle)) return kNotInitialized;
  delete static_cast<Dnn*>(handle);
  return 0;
}
int cudnnSetStream(void* handle, void* stream) {
  if (!All().Has(handle)) return kNotInitialized;
  static_cast<Dnn*>(handle)->stream = stream;
  return 0;
}
int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  if (const int fault = Fault("cudnnBackendCreateDescriptor"); fault != 0) return fault;
  *descriptor = All().Add(new Descriptor(kind));
  return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  if (!All().Remove(descriptor)) return kBadParam;
  delete static_cast<Descriptor*>(descriptor);
  return 0;
}
int cudnnBackendSetAttribute(void* descriptor, int name, int type, int64_t count,
                             const void* values) {
  Descriptor* const it = Find(descriptor);
  if (it == nullptr || it->is_finished || count < 1) return kBadParam;
  const auto* const from = static_cast<const std::byte*>(values);
  it->attributes[name].assign(from, from + static_cast<size_t>(count) * SizeOfAttribute(type));
  return 0;
}
int cudnnBackendFinalize(void* descriptor) {
  if (const int fault = Fault("cudnnBackendFinalize"); fault != 0) return fault;
  Descriptor* const it = Find(descriptor);
  if (it == nullptr || it->is_finished) return kBadParam;
  for (const int name : {702, 703, 704, 705, 801, 201, 401}) {
    if (!it->attributes.contains(name)) continue;
    if (it->Of(name) == nullptr || !it->Of(name)->is_finished) return kNotFinalized;
  }
  if (it->kind == 15 && !Convolution::Of(*it).IsSound()) return kBadParam;
  if (it->kind == 5) {
    if (const int fault = Fault("cudnn.plan"); fault != 0) return fault;
    if (!Convolution::Of(*it->Of(401)->graph).HasKnownLayout()) return kNotLayout;
    if (it->Of(401)->engine == 0) return kBadParam;
  }
  it->is_finished = true;
  return 0;
}
int cudnnBackendGetAttribute(void* descriptor, int name, int, int64_t most, int64_t* count,
                             void* values) {
  Descriptor* const it = Find(descriptor);
  if (it == nullptr || !it->is_finished || most < 1) return kBadParam;
  if (name == 202) {  // what a heuristic proposes
    auto* const into = static_cast<Descriptor**>(values);
    const bool is_best = it->Get<int32_t>(200).at(0) == kModeBest;
    *count = is_best ? std::min<int64_t>(most, fake_libraries::Property("cudnn.engines", 2)) : 0;
    for (int64_t i = 0; i < *count; ++i) {
      into[i]->graph = it->Of(201);
      into[i]->engine = static_cast<int>(i);
      into[i]->is_finished = true;
    }
    return 0;
  }
  *count = 1;
  if (name == 300) {  // the engine of a configuration
    Descriptor& engine = **static_cast<Descriptor**>(values);
    engine.engine = it->engine;
    engine.is_finished = true;
    return 0;
  }
  if (name == 1301) {  // its number
    *static_cast<int64_t*>(values) = it->engine;
    return 0;
  }
  if (name == 1303) {  // its notes
    *count = it->engine == 0 ? 1 : 0;
    if (it->engine == 0) *static_cast<int32_t*>(values) = kNoteNotDeterministic;
    return 0;
  }
  if (name != 402) return kBadParam;
  *static_cast<int64_t*>(values) = kWork;
  return 0;
}
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  if (const int fault = Fault("cudnnBackendExecute"); fault != 0) return fault;
  if (!All().Has(handle)) return kNotInitialized;
  const Descriptor *const it = Find(plan), *const given = Find(pack);
  if (it == nullptr || given == nullptr || !it->is_finished || !given->is_finished)
    return kBadParam;
  const Convolution what = Convolution::Of(*it->Of(401)->graph);
  const auto uids = given->Get<int64_t>(1000);
  const auto pointers = given->Get<void*>(1001), work = given->Get<void*>(1003);
  if (uids.size() != 3 || pointers.size() != 3 || work.size() != 1) return kBadParam;
  const auto pointer = [&](const Tensor& tensor) {
    return pointers[static_cast<size_t>(std::ranges::find(uids, tensor.uid) - uids.begin())];
  };
  const auto run = [what, x = pointer(what.x), w = pointer(what.w), y = pointer(what.y),
                    room = work[0]] {
    const auto bytes = [](const Tensor& tensor, const void* at) {
      return Bytes(at,
                   static_cast<size_t>(tensor.Elements()) * fake_libraries::SizeOf(tensor.type));
    };
    std::byte* const in = bytes(what.x, x);
    std::byte* const filter = bytes(what.w, w);
    std::byte* const out = bytes(what.y, y);
    std::byte* const own = Bytes(room, size_t{kWork});
    if (in == nullptr || filter == nullptr || out == nullptr || own == nullptr) return;
    std::memset(own, 0xee, size_t{kWork});
    what.Run(in, filter, out);
  };
  const int engine = it->Of(401)->engine;
  const std::string name =
      engine == 1 ? "fake_convolution" : "fake_convolution_" + std::to_string(engine);
  const int answer = fake_libraries::Submit(static_cast<Dnn*>(handle)->stream, name.c_str(), run);
  return answer == 0 ? 0 : kExecutionFailed;
}

}  // extern "C"
