// What an app does with the client that oapi-codegen makes for Go.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"feeds.example/synced/feedkeep"
)

var feeds = []string{"https://feeds.example/one", "https://feeds.example/two", "feeds.example/no-protocol"}

func check(is bool, what string) {
	if !is {
		log.Fatal(what)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func signed(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("FEEDKEEP_TOKEN"))
	return nil
}

func main() {
	ctx := context.Background()
	api := must(feedkeep.NewClientWithResponses(os.Getenv("FEEDKEEP_URL"), feedkeep.WithRequestEditorFn(signed)))
	list := func(since *time.Time) []feedkeep.Entry {
		listed := must(api.ListSubscriptionsWithResponse(ctx, &feedkeep.ListSubscriptionsParams{Since: since})).JSON200
		check(listed.Total == len(listed.Subscriptions), "all are on one page")
		return listed.Subscriptions
	}

	wanted := feedkeep.AddRequest{}
	for _, url := range feeds {
		wanted.Subscriptions = append(wanted.Subscriptions, feedkeep.FeedToAdd{FeedUrl: url})
	}
	added := must(api.AddSubscriptionsWithResponse(ctx, wanted)).JSON200
	check(len(added.Success) == 2 && added.Success[0].FeedUrl == feeds[0], "two are added")
	check(strings.HasPrefix(added.Failure[0].Message, "No protocol present"), "one is refused")
	one, two := added.Success[0].Guid, added.Success[1].Guid

	since := time.Time{}
	for _, entry := range list(nil) {
		if entry.SubscriptionChanged.After(since) {
			since = *entry.SubscriptionChanged
		}
	}
	check(len(list(&since)) == 0, "nothing is new")

	off := false
	body := feedkeep.UpdateRequest{IsSubscribed: &off}
	changed := must(api.UpdateSubscriptionWithResponse(ctx, one, nil, body)).JSON200
	check(changed.SubscriptionChanged.After(since), "the change is newer")
	entries := list(&since)
	check(len(entries) == 1 && entries[0].Guid == one && !entries[0].IsSubscribed, "one changed")

	deleted := must(api.DeleteSubscriptionWithResponse(ctx, two, nil)).JSON202
	confirmed := must(api.ReadDeletionWithResponse(ctx, deleted.DeletionId)).JSON200
	check(confirmed.Status == "SUCCESS", "it is deleted")
	entries = list(changed.SubscriptionChanged)
	check(len(entries) == 1 && entries[0].Deleted != nil, "one is deleted")
	gone := must(api.ReadSubscriptionWithResponse(ctx, two, nil))
	check(gone.JSON410 != nil && gone.JSON410.Code == "410", "a deleted one is an error")
}
