// Geohash: places as short texts, of which those of near places mostly begin alike (Niemeyer, 2008).
//
// A geohash of N letters is 5 N bits: longitude and latitude by turns, each bit a half of what is left.
#include <array>
#include <cstdint>
#include <flowrun/plugin.hpp>

namespace {

constexpr std::string_view alphabet = "0123456789bcdefghjkmnpqrstuvwxyz";
constexpr uint64_t most_letters = 12;

// A half-open interval that is halved bit by bit.
struct interval {
  double low, high;
  uint64_t push(double value) {
    const double middle = (low + high) / 2;
    const bool above = value >= middle;
    (above ? low : high) = middle;
    return above ? 1 : 0;
  }
  void pull(uint64_t bit) { (bit != 0 ? low : high) = (low + high) / 2; }
};

uint64_t checked_length(uint64_t letters) {
  if (letters < 1 || letters > most_letters)
    throw fr::error(std::to_string(letters) + " is no length of a geohash", "it has 1 to 12 letters");
  return letters;
}

void encode(uint64_t letters, double latitude, double longitude, fr::text_out& out) {
  if (!(latitude >= -90 && latitude <= 90) || !(longitude >= -180 && longitude <= 180))
    throw fr::error(
        "there is no place at latitude " + std::to_string(latitude) + ", longitude " + std::to_string(longitude),
        "latitudes are from -90 to 90 and longitudes from -180 to 180; a filter in front drops others");
  interval of_longitude{-180, 180}, of_latitude{-90, 90};
  char* const to = out.extend(letters);
  for (uint64_t i = 0; i < letters; ++i) {
    uint64_t letter = 0;
    for (uint64_t bit = 0; bit < 5; ++bit) {
      const bool is_longitude = (i * 5 + bit) % 2 == 0;
      letter = letter << 1 | (is_longitude ? of_longitude.push(longitude) : of_latitude.push(latitude));
    }
    to[i] = alphabet[letter];
  }
}

// The middle of what a geohash stands for.
struct place {
  double latitude, longitude;
};
place decode(std::string_view text) {
  interval of_longitude{-180, 180}, of_latitude{-90, 90};
  uint64_t bit_number = 0;
  for (const char c : text) {
    const size_t letter = alphabet.find(c);
    if (letter == std::string_view::npos)
      throw fr::error("'" + std::string(text) + "' is no geohash", "its letters are 0-9 and b-z without i, l and o");
    for (int shift = 4; shift >= 0; --shift, ++bit_number)
      (bit_number % 2 == 0 ? of_longitude : of_latitude).pull(letter >> shift & 1);
  }
  return {(of_latitude.low + of_latitude.high) / 2, (of_longitude.low + of_longitude.high) / 2};
}

}  // namespace

FLOWRUN_PLUGIN("geohash", "1.0.0") {
  plugin.add(
      fr::function("encode")
          .signature("encode(latitude, longitude, letters) → string")
          .help("The geohash of a place in degrees; `letters`, a constant from 1 to 12, says how exact it is.")
          .overload(checked_length, [](uint64_t letters, double latitude, double longitude, fr::constant<uint64_t>,
                                       fr::text_out& out) { encode(letters, latitude, longitude, out); }));
  plugin.add(fr::function("latitude")
                 .signature("latitude(geohash) → f64")
                 .help("The latitude of the middle of a geohash.")
                 .overload([](std::string_view text) { return decode(text).latitude; }));
  plugin.add(fr::function("longitude")
                 .signature("longitude(geohash) → f64")
                 .help("The longitude of the middle of a geohash.")
                 .overload([](std::string_view text) { return decode(text).longitude; }));
}
