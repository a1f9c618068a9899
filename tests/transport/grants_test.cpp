#include <doctest/doctest.h>

#include "transport/source.hpp"

using namespace troupe;

TEST_CASE("a page is readable from its grant until it, or its session, is revoked") {
  transport::GrantTable grants;
  grants.revoke_page(1, 7);
  CHECK(grants.size() == 0);
  for (const kv::PageId page : {7u, 8u}) grants.grant(1, page);
  grants.grant(2, 7);
  CHECK(grants.allows(1, 7));
  CHECK_FALSE(grants.allows(1, 9));

  grants.revoke_page(1, 7);
  CHECK_FALSE(grants.allows(1, 7));
  CHECK(grants.allows(1, 8));
  CHECK(grants.allows(2, 7));
  grants.revoke_page(1, 8);
  CHECK(grants.size() == 1);

  grants.revoke(2);
  CHECK_FALSE(grants.allows(2, 7));
  CHECK(grants.size() == 0);
}
