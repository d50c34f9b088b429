// tcgen05.mma: D = A·B + D, D in tensor memory, done when it is issued. What is multiplied is in a
// descriptor of 32 bits that is known only then.
#include <cstring>
#include <string>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/shared_tile.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/tensor_memory.h"
#include "core/ptx/machine/tile_products.h"
#include "core/ptx/tensor/steps.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kRowBytes = 32, kRowColumns = kRowBytes / 4;

struct Product {
  TileForm form;
  bool a_negative = false, b_negative = false;
  bool a_transposed = false, b_transposed = false;
};

std::optional<Element> ElementIn(Kind kind, uint32_t format) {
  switch (kind) {
    case Kind::kF16:
      if (format <= 1) return format == 0 ? Element::kF16 : Element::kBf16;
      return std::nullopt;
    case Kind::kTf32:
      if (format == 2) return Element::kTf32;
      return std::nullopt;
    case Kind::kF8f6f4:
      if (format <= 1) return format == 0 ? Element::kE4m3 : Element::kE5m2;
      return std::nullopt;
    default:
      if (format <= 1) return format == 0 ? Element::kU8 : Element::kS8;
      return std::nullopt;
  }
}

// What an instruction descriptor says; nullopt and a reason for what is not executed.
std::optional<Product> ProductOf(Kind kind, uint32_t descriptor, uint32_t target,
                                 const char*& refused) {
  const auto field = [&](int at, int bits) { return descriptor >> at & ((1u << bits) - 1); };
  const auto a = ElementIn(kind, field(7, 3)), b = ElementIn(kind, field(10, 3));
  if (!a.has_value() || !b.has_value()) {
    refused = "tcgen05.mma of these types of a and b is not executed";
    return std::nullopt;
  }
  if (field(0, 3) != 0) {
    refused = "tcgen05.mma of sparse matrices is not executed";
    return std::nullopt;
  }
  Element d = field(4, 2) == 1 ? Element::kF32 : Element::kF16;
  if (kind == Kind::kI8) d = Element::kS32;
  if (field(4, 2) != (kind == Kind::kI8 ? 2u : d == Element::kF32 ? 1u : 0u)) {
    refused = "tcgen05.mma with sums of this type";
    return std::nullopt;
  }
  Product p{{TensorUnit::kTcgen05, static_cast<int>(field(24, 5) * 16),
             static_cast<int>(field(17, 6) * 8), 0, *a, *b, d}};
  p.form.k = static_cast<int>(kRowBytes) / BytesOf(*a);
  p.form.saturate = field(3, 1) != 0;
  p.form.sm = static_cast<int>(target);
  p.a_negative = field(13, 1) != 0;
  p.b_negative = field(14, 1) != 0;
  p.a_transposed = field(15, 1) != 0;
  p.b_transposed = field(16, 1) != 0;
  const int step = p.form.m == 64 ? 8 : 16;
  if ((p.form.m != 64 && p.form.m != 128) || p.form.n < step || p.form.n > 256 ||
      p.form.n % step != 0) {
    refused = "tcgen05.mma of this shape: m is 64 or 128, n up to 256 in steps of 8 or 16";
    return std::nullopt;
  }
  return p;
}

// Rows of D and of A in tensor memory: row i in lane i, or, of 64 rows, sixteen in each quarter.
uint32_t LaneOf(int rows, uint32_t row) { return rows == 64 ? row / 16 * 32 + row % 16 : row; }

class Multiplication {
 public:
  Multiplication(Warp& w, uint32_t lane, const Product& p, TileProduct product)
      : w_(w), lane_(lane), p_(p), product_(product) {
    const auto m = static_cast<size_t>(p.form.m), n = static_cast<size_t>(p.form.n);
    auto& buffer = w.block->scratch;
    buffer.resize((m + n) * kRowBytes + m * n * 4);
    a_ = buffer.data();
    b_ = a_ + m * kRowBytes;
    d_ = b_ + n * kRowBytes;
  }

  bool ReadShared(uint64_t descriptor, bool is_b) {
    const char* refused = nullptr;
    const auto tile = Tcgen05Tile(descriptor, refused);
    if (!tile.has_value()) return Fail(refused);
    const auto rows = static_cast<uint32_t>(is_b ? p_.form.n : p_.form.m);
    return ReadTile(w_, lane_, *tile, is_b ? p_.b_transposed : p_.a_transposed, rows,
                    static_cast<uint32_t>(BytesOf(p_.form.a)), is_b, is_b ? b_ : a_);
  }

  // Elements of a row of A lie packed in eight columns.
  bool ReadA(uint32_t address) {
    if (!Check(address, kRowColumns)) return false;
    Tell(TensorUse::kFactor, address, kRowColumns);
    ForRows(address, [&](uint32_t row, const uint32_t* cells) {
      std::memcpy(a_ + row * kRowBytes, cells, kRowBytes);
    });
    return true;
  }

  // Sums of 16 bits have a column each.
  bool Compute(uint32_t address, bool adds) {
    const auto n = static_cast<uint32_t>(p_.form.n);
    const auto width = static_cast<uint32_t>(BytesOf(p_.form.d));
    if (!Check(address, n)) return false;
    Tell(adds ? TensorUse::kSumsAdded : TensorUse::kSums, address, n);
    if (p_.a_negative) NegateElements(p_.form.a, a_, static_cast<size_t>(p_.form.m) * kRowBytes);
    if (p_.b_negative) NegateElements(p_.form.b, b_, n * kRowBytes);
    if (adds) {
      ForRows(address, [&](uint32_t row, const uint32_t* cells) {
        for (uint32_t i = 0; i < n; ++i) std::memcpy(d_ + (row * n + i) * width, cells + i, width);
      });
    }
    CountProduct(p_.form, w_.block->counts);
    product_(p_.form, a_, b_, adds ? d_ : nullptr, d_);
    ForRows(address, [&](uint32_t row, uint32_t* cells) {
      for (uint32_t i = 0; i < n; ++i) {
        cells[i] = 0;
        std::memcpy(cells + i, d_ + (row * n + i) * width, width);
      }
    });
    return true;
  }

 private:
  bool Fail(const char* what) {
    w_.block->Fail(what, w_.first_thread + lane_);
    return false;
  }

  bool Check(uint32_t address, uint32_t columns) {
    TensorMemory* memory = w_.block->tensor_memory.get();
    const uint32_t lane = address >> 16;
    const bool fits = lane == 0 || (p_.form.m == 64 && lane == 16);
    if (fits && memory != nullptr && memory->Holds(address & 0xffff, columns)) return true;
    return Fail(fits ? "columns of tensor memory that were not allocated"
                     : "a matrix in tensor memory that starts at another lane than 0, or 16 of 64 "
                       "rows");
  }

  void Tell(TensorUse kind, uint32_t address, uint32_t columns) const {
    Observer* const observer = w_.block->observer;
    for (uint32_t row = 0; row < static_cast<uint32_t>(p_.form.m) && observer != nullptr; ++row) {
      const uint32_t lane = (address >> 16) + LaneOf(p_.form.m, row);
      observer->TensorCells(w_,
                            {kind, row, 0, TensorMemory::CellAt(lane, address & 0xffff), columns});
    }
  }

  template <typename F>
  void ForRows(uint32_t address, F f) {
    for (uint32_t row = 0; row < static_cast<uint32_t>(p_.form.m); ++row) {
      f(row,
        &w_.block->tensor_memory->At((address >> 16) + LaneOf(p_.form.m, row), address & 0xffff));
    }
  }

  Warp& w_;
  uint32_t lane_;
  const Product& p_;
  TileProduct product_;
  std::byte *a_, *b_, *d_;
};

void MultiplyLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  MultiplyTensorMemory(w, in, s, m, MultiplyTile);
}

}  // namespace

bool IsTensorMultiply(const Instruction& in) {
  return in.operation == Operation::kTensorMultiply ||
         in.operation == Operation::kTensorMultiplyFromMemory;
}

void MultiplyTensorMemory(Warp& w, const Instruction& in, const Slot* s, uint32_t m,
                          TileProduct product_of_tiles) {
  const bool a_in_memory = in.operation == Operation::kTensorMultiplyFromMemory;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const char* refused = nullptr;
    const auto product = ProductOf(ModifierKind(in), static_cast<uint32_t>(ReadLane(w, s[3], l)),
                                   w.block->target, refused);
    if (!product.has_value()) return w.block->Fail(refused, w.first_thread + l);
    if (const Status status = CheckTile(product->form); !status)
      return w.block->Fail(status.error().message, w.first_thread + l);
    if (a_in_memory && product->a_transposed) {
      return w.block->Fail("a matrix a in tensor memory is not transposed", w.first_thread + l);
    }
    Multiplication multiplication(w, l, *product, product_of_tiles);
    const bool has_a =
        a_in_memory ? multiplication.ReadA(static_cast<uint32_t>(AddressOf(w, in, s[1], l, 1)))
                    : multiplication.ReadShared(ReadLane(w, s[1], l), false);
    if (!has_a || !multiplication.ReadShared(ReadLane(w, s[2], l), true) ||
        !multiplication.Compute(static_cast<uint32_t>(AddressOf(w, in, s[0], l)),
                                (ReadMask(w, s[4]) >> l & 1) != 0)) {
      return;
    }
  }
}

void CountProduct(const TileForm& form, RunCounts& counts) {
  const auto products =
      static_cast<uint64_t>(form.m) * static_cast<uint64_t>(form.n) * static_cast<uint64_t>(form.k);
  const int bytes = BytesOf(form.a);
  (bytes == 4   ? counts.products_tf32
   : bytes == 2 ? counts.products_16bit
                : counts.products_8bit) += products;
}

void NegateElements(Element element, std::byte* bytes, size_t size) {
  const auto width = static_cast<size_t>(BytesOf(element));
  for (size_t i = width - 1; i < size; i += width) bytes[i] ^= std::byte{0x80};
}

Status CheckProduct(const Instruction& in, uint32_t target) {
  if (in.operation == Operation::kWmmaMultiply) return CheckMma(WmmaFormOf(in, target));
  if (IsTensorMultiply(in)) {
    const Kind kind = ModifierKind(in);
    const Element a = kind == Kind::kF16      ? Element::kF16
                      : kind == Kind::kTf32   ? Element::kTf32
                      : kind == Kind::kF8f6f4 ? Element::kE4m3
                                              : Element::kS8;
    return CheckTile({TensorUnit::kTcgen05, 128, 128, static_cast<int>(kRowBytes) / BytesOf(a), a,
                      a, kind == Kind::kI8 ? Element::kS32 : Element::kF32, false,
                      static_cast<int>(target)});
  }
  return in.group_wide ? CheckTile(WgmmaFormOf(in, target)) : CheckMma(MmaFormOf(in, target));
}

Step TensorMultiplyStep(const Instruction& i) {
  return IsTensorMultiply(i) ? MultiplyLanes : nullptr;
}

}  // namespace hloscope::ptx
