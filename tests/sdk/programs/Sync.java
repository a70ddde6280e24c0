import java.util.Comparator;
import java.util.List;

import feedkeep.client.ApiClient;
import feedkeep.client.ApiException;
import feedkeep.client.api.SubscriptionsApi;
import feedkeep.client.model.AddRequest;
import feedkeep.client.model.DeletionReply;
import feedkeep.client.model.Entry;
import feedkeep.client.model.FeedToAdd;
import feedkeep.client.model.UpdateRequest;

/** What an app does with the client that openapi-generator makes for Java. */
public class Sync {
    private static final List<String> FEEDS = List.of(
            "https://feeds.example/one", "https://feeds.example/two", "feeds.example/no-protocol");

    public static void main(String[] arguments) throws ApiException {
        var client = new ApiClient();
        client.updateBaseUri(System.getenv("FEEDKEEP_URL"));
        client.setRequestInterceptor(
                request -> request.header("Authorization", "Bearer " + System.getenv("FEEDKEEP_TOKEN")));
        var api = new SubscriptionsApi(client);

        var wanted = FEEDS.stream().map(url -> new FeedToAdd().feedUrl(url)).toList();
        var added = api.addSubscriptions(new AddRequest().subscriptions(wanted));
        check(added.getSuccess().size() == 2, "two are added");
        check(added.getFailure().get(0).getMessage().startsWith("No protocol present"), "one is refused");
        var one = added.getSuccess().get(0).getGuid();
        var two = added.getSuccess().get(1).getGuid();

        var listed = api.listSubscriptions(null, null, null, null, null, null);
        check(listed.getTotal() == 2, "two are listed");
        var since = listed.getSubscriptions().stream().map(Entry::getSubscriptionChanged)
                .max(Comparator.naturalOrder()).orElseThrow();
        check(list(api, since).isEmpty(), "nothing is new");
        check(list(api, since.toLocalDate().atStartOfDay().atOffset(since.getOffset())).size() == 2, "midnight");

        var changed = api.updateSubscription(one, new UpdateRequest().isSubscribed(false), null);
        check(changed.getSubscriptionChanged().isAfter(since), "the change is newer");
        var entries = list(api, since);
        check(entries.size() == 1 && entries.get(0).getGuid().equals(one), "one changed");
        check(!entries.get(0).getIsSubscribed(), "it is unsubscribed");

        long deletion = api.deleteSubscription(two, null).getDeletionId();
        check(api.readDeletion(deletion).getStatus() == DeletionReply.StatusEnum.SUCCESS, "it is deleted");
        entries = list(api, changed.getSubscriptionChanged());
        check(entries.size() == 1 && entries.get(0).getDeleted() != null, "one is deleted");
        try {
            api.readSubscription(two, null);
            throw new IllegalStateException("A deleted subscription was read.");
        } catch (ApiException error) {
            check(error.getCode() == 410, "a deleted one is an error");
        }
    }

    private static List<Entry> list(SubscriptionsApi api, java.time.OffsetDateTime since) throws ApiException {
        return api.listSubscriptions(since, null, null, null, null, null).getSubscriptions();
    }

    private static void check(boolean is, String what) {
        if (!is) {
            throw new IllegalStateException(what);
        }
    }
}
