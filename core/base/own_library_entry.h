// HLOSCOPE_OWN_LIBRARY: what each library of the program's own has beside its entries, once in a
// file of it.
#pragma once

#include <exception>
#include <stdexcept>

/// True if an exception that is thrown in the library is caught in it: the name is own_library.h's
/// kCatchesExceptions.
#define HLOSCOPE_OWN_LIBRARY                      \
  extern "C" bool hloscope_catches_exceptions() { \
    try {                                         \
      throw std::runtime_error("to be caught");   \
    } catch (const std::exception&) {             \
      return true;                                \
    }                                             \
  }
