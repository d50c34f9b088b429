// Fourier transforms on a GPU: every launch is one step of the self-sorting form of Cooley and
// Tukey's (Stockham; Van Loan, Computational Frameworks for the Fast Fourier Transform, 1.7), for
// any lengths. A factor that is a large prime is summed up as it stands.
#include <cmath>
#include <numbers>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/fft_form.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/math/inline_functions.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;

namespace {

constexpr int64_t kLargest = 7;  // factors up to here are written out: a thread has all outputs

// Of Σ over q < radix of w^(q·k') · from[…], by which transforms `done` long become `radix` times
// as long.
struct FftStep {
  int64_t length = 1;  // of the dimension
  int64_t stride = 1;  // between its elements
  int64_t done = 1;
  int64_t radix = 1;
  int64_t table = 0;  // where the roots of 1 of that length are
};

int64_t SmallestFactor(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

class GpuFftKernel {
 public:
  GpuFftKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        form_(FftFormOf(kernel.module, kernel.roots[0])),
        function_(module, kernel, name, -1),
        block_(function_),
        b_(function_.builder()),
        real_(form_.fft.is_double ? ElementType::kF64 : ElementType::kF32),
        type_(RegisterType(b_, real_)) {
    total_ = form_.arrays;
    for (int32_t d = 0; d < form_.fft.rank; ++d) total_ *= form_.fft.lengths[d];
    int64_t stride = 1;
    for (int32_t d = form_.fft.rank; d-- > 0;) {
      const int64_t n = form_.fft.lengths[d];
      int64_t done = 1;
      for (int64_t rest = n; rest > 1;) {
        const int64_t radix = SmallestFactor(rest);
        steps_.push_back({n, stride, done, radix, roots_});
        done *= radix;
        rest /= radix;
      }
      lengths_.push_back(n);
      roots_ += n;
      stride *= n;
    }
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t bytes = 2 * hlo::StorageBytes(real_);
    const int64_t units = std::max(total_, roots_);
    EmittedKernel out = InGrains(name, units, 1, bytes, 1);
    out.code.scratch_bytes = (2 * total_ + roots_) * bytes;
    for (int64_t pass = 0; pass < std::ssize(steps_) + 2; ++pass) out.passes.push_back(pass);
    function_.ForUnits(units, 1, [&](Value* unit) {
      const auto in_pass = [&](size_t pass, int64_t count, const std::function<void()>& body) {
        block_.When(b_.CreateAnd(b_.CreateICmpEQ(function_.pass(), Int(static_cast<int64_t>(pass))),
                                 b_.CreateICmpSLT(unit, Int(count))),
                    body);
      };
      in_pass(0, roots_, [&] { Root(unit); });
      in_pass(0, total_, [&] { Take(unit); });
      for (size_t i = 0; i < steps_.size(); ++i) {
        const FftStep& step = steps_[i];
        from_ = i % 2 == 0 ? 0 : total_;
        to_ = total_ - from_;
        const bool is_small = step.radix <= kLargest;
        in_pass(i + 1, is_small ? total_ / step.radix : total_,
                [&] { is_small ? Butterfly(step, unit) : Sum(step, unit); });
      }
      from_ = steps_.size() % 2 == 0 ? 0 : total_;
      in_pass(steps_.size() + 1, Results(), [&] { Give(unit); });
    });
    function_.Finish();
    out.is_complete = true;
    return out;
  }

 private:
  using Complex = Parts;

  Value* Int(int64_t value) { return function_.Int(value); }
  Value* Number(double value) { return llvm::ConstantFP::get(type_, value); }
  bool IsInverse() const {
    return form_.fft.kind == kHloscopeIfft || form_.fft.kind == kHloscopeIrfft;
  }
  int64_t Half() const { return lengths_[0] / 2 + 1; }
  int64_t Results() const {
    return form_.fft.kind == kHloscopeRfft ? total_ / lengths_[0] * Half() : total_;
  }

  // Complex numbers are pairs in memory.
  Value* At(Value* array, Value* i) { return b_.CreateGEP(type_, array, b_.CreateMul(i, Int(2))); }
  Complex Load(Value* array, Value* i) {
    Value* at = At(array, i);
    const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(real_)));
    return {b_.CreateAlignedLoad(type_, at, align),
            b_.CreateAlignedLoad(type_, b_.CreateConstGEP1_64(type_, at, 1), align)};
  }
  void Save(const Complex& x, Value* array, Value* i) {
    Value* at = At(array, i);
    b_.CreateStore(x.real, at);
    b_.CreateStore(x.imag, b_.CreateConstGEP1_64(type_, at, 1));
  }
  // Arrays in the scratch, one behind the other: two of all elements, and roots of 1.
  Value* Room(int64_t from) { return b_.CreateConstGEP1_64(type_, function_.scratch(), 2 * from); }
  Value* Roots(int64_t first) { return Room(2 * total_ + first); }

  Complex Add(const Complex& x, const Complex& y) {
    return {b_.CreateFAdd(x.real, y.real), b_.CreateFAdd(x.imag, y.imag)};
  }
  Complex Times(const Complex& x, const Complex& y) {
    return {b_.CreateFSub(b_.CreateFMul(x.real, y.real), b_.CreateFMul(x.imag, y.imag)),
            b_.CreateFAdd(b_.CreateFMul(x.real, y.imag), b_.CreateFMul(x.imag, y.real))};
  }
  // x · e^(∓2πi·turn/of)
  Complex Turned(const Complex& x, int64_t turn, int64_t of) {
    turn %= of;
    if (IsInverse()) turn = (of - turn) % of;
    if (turn == 0) return x;
    if (2 * turn == of) return {b_.CreateFNeg(x.real), b_.CreateFNeg(x.imag)};
    if (4 * turn == of) return {x.imag, b_.CreateFNeg(x.real)};
    if (4 * turn == 3 * of) return {b_.CreateFNeg(x.imag), x.real};
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(turn) / static_cast<double>(of);
    return Times(x, {Number(std::cos(angle)), Number(std::sin(angle))});
  }

  // ---- The first launch: roots of 1 for every dimension, and the elements as complex numbers.

  void Root(Value* unit) {
    int64_t first = 0;
    for (const int64_t n : lengths_) {
      Value* k = b_.CreateSub(unit, Int(first));
      block_.When(b_.CreateICmpULT(k, Int(n)), [&] {
        llvm::Type* wide = b_.getDoubleTy();
        const double turn = (IsInverse() ? 2 : -2) * std::numbers::pi;
        Value* angle = b_.CreateFMul(b_.CreateSIToFP(k, wide), llvm::ConstantFP::get(wide, turn));
        angle = b_.CreateFDiv(angle, llvm::ConstantFP::get(wide, static_cast<double>(n)));
        Value* operands[] = {angle};
        const auto of = [&](hlo::Opcode opcode) {
          return Converted(b_, InlineFunction(b_, opcode, operands), ElementType::kF64, real_);
        };
        Save({of(hlo::Opcode::kCos), of(hlo::Opcode::kSin)}, Roots(first), k);
      });
      first += n;
    }
  }

  void Take(Value* unit) {
    Value* in = function_.Arrays().at(kernel_.parameters[0].index).address;
    switch (form_.fft.kind) {
      case kHloscopeRfft: {
        const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(real_)));
        Value* x = b_.CreateAlignedLoad(type_, b_.CreateGEP(type_, in, unit), align);
        return Save({x, Number(0)}, Room(0), unit);
      }
      case kHloscopeIrfft:
        return Save(Mirrored(in, unit), Room(0), unit);
      default:
        return Save(Load(in, unit), Room(0), unit);
    }
  }

  // What the spectrum of a real signal has behind its first half: the conjugate of the element at
  // the negative of its index.
  Complex Mirrored(Value* in, Value* unit) {
    Value* rest = unit;
    Value* k = b_.CreateURem(rest, Int(lengths_[0]));
    rest = b_.CreateUDiv(rest, Int(lengths_[0]));
    Value* is_behind = b_.CreateICmpSGE(k, Int(Half()));
    Value* at = b_.CreateSelect(is_behind, b_.CreateSub(Int(lengths_[0]), k), k);
    int64_t stride = Half();
    for (size_t d = 1; d < lengths_.size(); ++d) {
      Value* i = b_.CreateURem(rest, Int(lengths_[d]));
      rest = b_.CreateUDiv(rest, Int(lengths_[d]));
      Value* negative = b_.CreateURem(b_.CreateSub(Int(lengths_[d]), i), Int(lengths_[d]));
      i = b_.CreateSelect(is_behind, negative, i);
      at = b_.CreateAdd(at, b_.CreateMul(i, Int(stride)));
      stride *= lengths_[d];
    }
    const Complex x = Load(in, b_.CreateAdd(at, b_.CreateMul(rest, Int(stride))));
    return {x.real, b_.CreateSelect(is_behind, b_.CreateFNeg(x.imag), x.imag)};
  }

  // ---- A step: lines of `length` elements; element k · (length / done) + j is number k of the
  // transform of every (length / done)-th element from j on.

  // Where element `i` of the line that `unit` of `units` is on lies.
  struct Line {
    Value *first, *place;  // its first element, and which place of it the unit has
  };
  Line LineOf(const FftStep& step, Value* unit, int64_t units) {
    Value* inner = b_.CreateURem(unit, Int(step.stride));
    Value* rest = b_.CreateUDiv(unit, Int(step.stride));
    Value* place = b_.CreateURem(rest, Int(units));
    Value* outer = b_.CreateUDiv(rest, Int(units));
    return {b_.CreateAdd(b_.CreateMul(outer, Int(step.length * step.stride)), inner), place};
  }
  Value* On(const FftStep& step, const Line& line, Value* i) {
    return b_.CreateAdd(line.first, b_.CreateMul(i, Int(step.stride)));
  }

  void Butterfly(const FftStep& step, Value* unit) {
    const int64_t apart = step.length / (step.done * step.radix);
    const Line line = LineOf(step, unit, step.length / step.radix);
    Value* k = b_.CreateUDiv(line.place, Int(apart));
    Value* j = b_.CreateURem(line.place, Int(apart));
    std::vector<Complex> in;
    for (int64_t q = 0; q < step.radix; ++q) {
      Value* at =
          b_.CreateAdd(b_.CreateMul(k, Int(apart * step.radix)), b_.CreateAdd(j, Int(q * apart)));
      Complex x = Load(Room(from_), On(step, line, at));
      // q · k turns of done · radix: below the length, since k is below done.
      if (q > 0 && step.done > 1) {
        x = Times(x, Load(Roots(step.table), b_.CreateMul(k, Int(q * apart))));
      }
      in.push_back(x);
    }
    for (int64_t r = 0; r < step.radix; ++r) {
      Complex sum = in[0];
      for (int64_t q = 1; q < step.radix; ++q) {
        sum = Add(sum, Turned(in[static_cast<size_t>(q)], q * r, step.radix));
      }
      Value* at = b_.CreateAdd(b_.CreateMul(b_.CreateAdd(k, Int(r * step.done)), Int(apart)), j);
      Save(sum, Room(to_), On(step, line, at));
    }
  }

  void Sum(const FftStep& step, Value* unit) {
    const int64_t apart = step.length / (step.done * step.radix), longer = step.done * step.radix;
    const Line line = LineOf(step, unit, step.length);
    Value* k = b_.CreateUDiv(line.place, Int(apart));
    Value* j = b_.CreateURem(line.place, Int(apart));
    Value* first = b_.CreateMul(b_.CreateURem(k, Int(step.done)), Int(apart * step.radix));
    first = b_.CreateAdd(first, j);
    const auto sums = function_.Loop(
        Int(0), Int(step.radix), 1, {Number(0), Number(0)},
        [&](Value* q, const std::vector<Value*>& so_far) -> std::vector<Value*> {
          const Complex x =
              Load(Room(from_), On(step, line, b_.CreateAdd(first, b_.CreateMul(q, Int(apart)))));
          Value* turn = b_.CreateURem(b_.CreateMul(q, k), Int(longer));
          const Complex y = Times(x, Load(Roots(step.table), b_.CreateMul(turn, Int(apart))));
          const Complex sum = Add({so_far[0], so_far[1]}, y);
          return {sum.real, sum.imag};
        });
    Save({sums[0], sums[1]}, Room(to_), On(step, line, line.place));
  }

  // ---- The last launch.

  void Give(Value* unit) {
    Value* from = unit;
    if (form_.fft.kind == kHloscopeRfft) {
      from = b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(unit, Int(Half())), Int(lengths_[0])),
                          b_.CreateURem(unit, Int(Half())));
    }
    Complex x = Load(Room(from_), from);
    if (IsInverse()) {
      Value* factor = Number(static_cast<double>(form_.arrays) / static_cast<double>(total_));
      x = {b_.CreateFMul(x.real, factor), b_.CreateFMul(x.imag, factor)};
    }
    if (form_.fft.kind != kHloscopeIrfft) return Save(x, function_.result(0), unit);
    b_.CreateStore(x.real, b_.CreateGEP(type_, function_.result(0), unit));
  }

  const Kernel& kernel_;
  FftForm form_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  ElementType real_;
  llvm::Type* type_;
  std::vector<FftStep> steps_;
  std::vector<int64_t> lengths_;  // from the last dimension on
  int64_t total_ = 1;             // elements of the signals
  int64_t roots_ = 0;             // of 1, for all dimensions
  int64_t from_ = 0, to_ = 0;     // where in the scratch a step reads and writes
};

}  // namespace

EmittedKernel EmitGpuFft(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuFftKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
