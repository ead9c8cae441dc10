#pragma once

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace flowrun {

// The error that `act` throws; fails the test when it throws none.
template <class Act>
error error_of(Act&& act) {
  try {
    act();
  } catch (const error& e) {
    return e;
  }
  ADD_FAILURE() << "no error was thrown";
  return error(error_kind::internal, "");
}

}  // namespace flowrun
