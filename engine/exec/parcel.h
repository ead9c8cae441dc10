// What one part of a node hands to the part behind it where it isn't rows: a slice that is still to be put in order, a
// piece of text to be parsed. Between the two it goes through the pipeline as a batch does, counted by its rows and
// bytes. What it holds can be had by its type only: to ask for another type, or to take a batch of rows for a parcel,
// is an internal error.
//
// A parcel never leaves its node: the operator puts the part that opens it right behind the part that makes it.
#pragma once

#include <memory>
#include <utility>

#include "engine/base/error.h"
#include "engine/exec/operator.h"

namespace flowrun::exec {

// Tells the owner of a parcel of T from all others.
template <class T>
struct parcel_of {
  void operator()(const T* content) const { delete content; }
};

// `num_rows` > 0 and `num_bytes`: what it counts as.
template <class T>
record::batch make_parcel(T content, size_t num_rows, size_t num_bytes) {
  std::shared_ptr<const T> owner(new T(std::move(content)), parcel_of<T>{});
  record::batch parcel;
  parcel.num_rows = num_rows;
  parcel.heap = reinterpret_cast<const std::byte*>(owner.get());  // only so that no other batch seems to share it
  parcel.heap_bytes = num_bytes;
  parcel.owner = std::move(owner);
  return parcel;
}

// Lives as long as the parcel.
template <class T>
const T& open_parcel(const record::batch& parcel) {
  FLOWRUN_CHECK(std::get_deleter<parcel_of<T>>(parcel.owner) != nullptr);
  return *static_cast<const T*>(parcel.owner.get());
}

// The part behind a head that gives parcels of T.
template <class T>
class parcel_stage : public stateless_stage {
 public:
  // As stateless_stage::apply.
  virtual void open(const T& content, output& out) const = 0;
  void apply(const record::batch& in, output& out) const final { open(open_parcel<T>(in), out); }
};

}  // namespace flowrun::exec
