// FillRandom: by the kind of the element type.
#include "core/eval/random_fill.h"

#include "core/eval/wide.h"

namespace hloscope::eval {

using hlo::ElementKind;
using hlo::ElementType;

void FillRandom(ElementType type, uint64_t seed, std::byte* out, int64_t count) {
  RandomBits random(seed);
  const int size = hlo::StorageBytes(type);
  auto small = [&random] { return -0.1 + 0.3 * random.NextUnit(); };
  for (int64_t i = 0; i < count; ++i) {
    std::byte* element = out + i * size;
    switch (hlo::Info(type).kind) {
      case ElementKind::kFloat: {
        if (hlo::BitWidth(type) <= 4) {
          *element = static_cast<std::byte>(random.Next() & 0xf);
          break;
        }
        const double value = small();
        StoreFrom<double>(type, &value, element, 1);
        break;
      }
      case ElementKind::kComplex: {
        const double real = small();
        const Complex value(real, small());
        StoreFrom<Complex>(type, &value, element, 1);
        break;
      }
      case ElementKind::kPred: {
        *element = static_cast<std::byte>(random.Next() & 1);
        break;
      }
      default: {
        const auto value = static_cast<int64_t>(random.Next());
        StoreFrom<int64_t>(type, &value, element, 1);
      }
    }
  }
}

}  // namespace hloscope::eval
